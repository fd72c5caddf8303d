"""Learns ``order.json`` from the shipped texts.

python -m llmzoo.envs.writing.order_table

The table is a part of the reward: learning it anew asks for a new version of the environments.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from llmzoo.envs.sources import records
from llmzoo.envs.writing.order import NAMES, TABLE, classes

_PRIOR = 8.0  # neighbours that a class is taken to have had before the first was counted
_BOUND = 2.5  # a pair that was never seen tells no more than this


def learn(texts: Iterable[str]) -> dict[str, list[int]]:
    """``100 * log P(b | a) / P(b)`` for each pair of classes, a row for each ``a``."""
    pairs: Counter[tuple[str, str]] = Counter()
    for text in texts:
        found = classes(text)
        pairs.update(pairwise(found))
    total = pairs.total()
    before = Counter[str]()
    after = Counter[str]()
    for (a, b), count in pairs.items():
        before[a] += count
        after[b] += count
    share = {b: (after[b] + 1) / (total + len(NAMES)) for b in NAMES}

    def telling(a: str, b: str) -> int:
        likely = (pairs[a, b] + _PRIOR * share[b]) / (before[a] + _PRIOR)
        return round(100 * max(-_BOUND, min(_BOUND, math.log(likely / share[b]))))

    return {a: [telling(a, b) for b in NAMES] for a in NAMES}


def main() -> None:
    found = []
    for path in sorted((TABLE.parent / "texts").glob("*.jsonl")):
        for record in records(path):
            found += [text for name, text in record.items() if name not in ("id", "title")]
    rows = learn(found)
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    TABLE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(found)} texts")


if __name__ == "__main__":
    main()
