"""Runs attacks in the requested columns, and yields the outcome of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from llmzoo.sandbox.attacks.columns import is_rival
from llmzoo.sandbox.attacks.world import PACKAGES

SUITE = "the suite itself"  # stands for the attack in the record of an attack runner that died


def run_suite(
    identity: str,
    columns: list[str],
    attacks: list[str],
    num_trainers: int = 4,
    seconds: float = 1e9,
) -> Iterator[dict[str, Any]]:
    """Yield the records that attack_runner.py prints for this kind of user.

    ``attacks``: names, in the order to try them. ``num_trainers``: how many attacks run at the same
    time. ``seconds``: no attack starts after this time.
    """
    order = {
        "as": identity,
        "columns": columns,
        "attacks": attacks,
        "num_trainers": num_trainers,
        "seconds": seconds,
    }
    paths = [str(PACKAGES), *(path for path in sys.path if path)]
    with subprocess.Popen(
        [sys.executable, "-m", "llmzoo.sandbox.attacks.attack_runner", json.dumps(order)],
        cwd=PACKAGES,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    ) as runner:
        assert runner.stdout
        for line in runner.stdout:
            yield {"as": identity, **json.loads(line)}
    if runner.returncode:
        why = f"the attack runner ended with exit code {runner.returncode}"
        yield {
            "as": identity,
            "column": columns[0],
            "attack": SUITE,
            "outcome": "broken",
            "why": why,
        }


def is_failure(record: dict[str, Any]) -> bool:
    """Whether a record says that the sandbox let an attack succeed or misjudged a control."""
    if is_rival(record.get("column", "")):
        return False
    return record.get("outcome") in ("succeeded", "broken") or bool(record.get("wrong"))
