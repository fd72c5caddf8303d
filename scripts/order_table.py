"""Learns the table of ``llmzoo/envs/writing/order.py`` from the shipped texts.

python scripts/order_table.py

The table is a part of the reward: a change to it asks for a new version of the environments.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from llmzoo.envs.writing import arxiv, story, tldr
from llmzoo.envs.writing.order import NAMES, TABLE, classes

_PRIOR = 8.0  # neighbours that each class is assumed to have before any are counted
_BOUND = 2.5  # the largest and the smallest value, up to its sign


def learn(texts: Iterable[str]) -> dict[str, list[int]]:
    """``100 * log P(b | a) / P(b)`` for each pair of classes, a row for each ``a``."""
    pairs = Counter(pair for text in texts for pair in pairwise(classes(text)))
    total = pairs.total()
    before, after = Counter[str](), Counter[str]()
    for (a, b), count in pairs.items():
        before[a] += count
        after[b] += count
    share = {b: (after[b] + 1) / (total + len(NAMES)) for b in NAMES}

    def value(a: str, b: str) -> int:
        likely = (pairs[a, b] + _PRIOR * share[b]) / (before[a] + _PRIOR)
        return round(100 * max(-_BOUND, min(_BOUND, math.log(likely / share[b]))))

    return {a: [value(a, b) for b in NAMES] for a in NAMES}


def main() -> None:
    tasks = [
        task
        for form in (arxiv, story, tldr)
        for task in form.raw_env.public_set.load("sample").tasks
    ]
    texts = [text for task in tasks for text in (task.text, *task.parts) if text is not None]
    rows = learn(texts)
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    TABLE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(texts)} texts")


if __name__ == "__main__":
    main()
