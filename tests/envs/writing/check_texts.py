"""Scores the reference pairs of a file of texts, record by record.

python tests/envs/writing/check_texts.py tldr|arxiv|story FILE.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from llmzoo.envs.writing import grounding, scoring

FIELDS = {
    "tldr": ("post", "concise", "detailed"),
    "arxiv": ("abstract", "background", "method"),
    "story": ("opening", "first", "second"),
}


def main(kind: str, path: str) -> int:
    form = getattr(scoring, kind.upper())
    standard = getattr(grounding, kind.upper())
    text, one, two = FIELDS[kind]
    low = 0
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        source = grounding.measure_source(record.get("title", ""), record[text], standard)
        shape = scoring.measure_structure(record[one], record[two], form)
        grounded = grounding.measure_grounding(record[one], record[two], source, standard)
        share = grounded.factor * shape.total / scoring.MAXIMUM
        low += share < 0.8
        mark = "" if share >= 0.8 else "   <-- below 80%"
        print(
            f"{record['id']}: structural {shape.total:.2f} of {scoring.MAXIMUM:.2f}"
            f"{' failed ' + shape.failed if shape.failed else ''}; "
            f"order {grounded.measured['order']:.2f}, factor {grounded.factor:.2f}; "
            f"grounded {share:.0%} of the most{mark}"
        )
        print("   ", ", ".join(f"{name} {value:.3g}" for name, value in shape.measured.items()))
        for name, part in zip((one, two), (grounded.first, grounded.second), strict=True):
            print(
                f"    {name}: score {part.score:.2f}, "
                f"{', '.join(f'{name} {value:.2f}' for name, value in part.measured.items())}; "
                f"not in the source: {', '.join(part.unsupported[:12])}"
            )
    print(f"{low} below 80%")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
