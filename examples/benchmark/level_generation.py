"""Levels generated per second, one process, default settings of each game.

    python examples/benchmark/level_generation.py

Sokoban stands beside a plain reverse-play searcher (see sokoban_generation.py). For the others
there is no common generator to compare with.
"""

from __future__ import annotations

import random

import sokoban_generation
from timing import Row, rate, row

import llmzoo

AT_ONCE = 20


def compare(seconds: float = 2.0) -> list[Row]:
    sokoban = sokoban_generation.compare(seconds)
    return [
        row("levels_sudoku", _rate("sudoku_v0", seconds), "levels/s"),
        row("levels_plan_path", _rate("plan_path_v0", seconds), "levels/s"),
        row("levels_sokoban", sokoban["ours"], "levels/s", theirs=sokoban["theirs"]),
    ]


def _rate(env_id: str, seconds: float) -> float:
    tasks = llmzoo.make(env_id, split="all").unwrapped.tasks  # no level is thrown away
    rng = random.Random(0)

    def some() -> int:
        for _ in range(AT_ONCE):
            tasks.sample(rng)
        return AT_ONCE

    return rate(some, seconds)


if __name__ == "__main__":
    for found in compare():
        print(f"{found['name']:<24}{found['ours']:>10,.0f} {found['unit']}")
