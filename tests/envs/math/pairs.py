"""Counts the verdicts on labelled pairs of answers, ours beside math-verify's.

python -m tests.envs.math.pairs FILE.jsonl [FILE.jsonl ...] [--wrong]

A line is ``{"gold": ..., "pred": ..., "expected": true or false}``. ``--wrong`` also prints the pairs
on which our verdict is not the expected one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llmzoo.envs.math import answers

# math-verify evaluates what it reads, so that it runs in a process of its own
_MATH_VERIFY = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
def right(gold, given):
    try:
        return bool(verify(parse(gold), parse(given)))
    except Exception:
        return False
print(json.dumps([right(*pair) for pair in json.load(sys.stdin)]))
"""


_MARKED = re.compile(r"\$|boxed|\\[(\[]|[A-Za-z]{3,} [A-Za-z]{2,}")  # or prose
_FORMULA = re.compile(r"[\\^_{}=<>]")


def math_verify(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Its verdicts on pairs of the right answer and a given one, by its defaults.

    It reads LaTeX only between dollars or in a box, so that bare formulas are put between dollars.
    """
    ended = subprocess.run(
        [sys.executable, "-c", _MATH_VERIFY],
        input=json.dumps([tuple(map(_marked, pair)) for pair in pairs]),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    verdicts: list[bool] = json.loads(ended.stdout)
    return verdicts


def _marked(text: str) -> str:
    is_bare = _MARKED.search(text) is None and _FORMULA.search(text) is not None
    return f"${text}$" if is_bare else text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.envs.math.pairs", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--wrong", action="store_true")
    args = parser.parse_args()
    lines = [line for file in args.files for line in file.read_text("utf-8").splitlines()]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    pairs = [(record["gold"], record["pred"]) for record in records]
    ours = [answers.answers_match(*pair) for pair in pairs]
    for name, verdicts in (("llmzoo", ours), ("math-verify", math_verify(pairs))):
        judged = list(zip(records, verdicts, strict=True))
        accepted = sum(verdict and not record["expected"] for record, verdict in judged)
        refused = sum(record["expected"] and not verdict for record, verdict in judged)
        right = len(records) - accepted - refused
        print(
            f"{name}: right on {right} of {len(records)}, accepted wrongly {accepted}, "
            f"refused wrongly {refused}"
        )
    for record, verdict in zip(records, ours, strict=True):
        if args.wrong and verdict != record["expected"]:
            print(json.dumps({"verdict": verdict, **record}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
