"""What a task is: a text of capital letters, and the wall of cells that it covers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.building.blocks import STONE, Box
from llmzoo.envs.building.font import HEIGHT, LETTERS, text_rows

LEVELS = {"easy": 2, "normal": 3, "hard": 5}  # letters
MAX_LETTERS = 5
_ALPHABET = "".join(LETTERS)


@dataclass(frozen=True)
class WordTask:
    """``text``: the letters. Derived values are computed on first use and kept."""

    text: str

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The wall from the top, ``#`` where a block must stand."""
        return text_rows(self.text)

    @cached_property
    def box(self) -> Box:
        return Box(len(self.rows[0]), HEIGHT, 1)

    @cached_property
    def target(self) -> bytes:
        """A grid that is not air where a block must stand."""
        cells = "".join(reversed(self.rows))
        return bytes(STONE * (cell == "#") for cell in cells)


def check_letters(letters: int) -> int:
    check_range("letters", letters, 1, MAX_LETTERS)
    return letters


def sample_task(rng: random.Random, letters: int) -> WordTask:
    return WordTask("".join(rng.choice(_ALPHABET) for _ in range(letters)))


def canonical(task: WordTask) -> str:
    """The same text for texts whose walls are mirror images of each other: from the left to the right, from
    the top to the bottom, or both."""
    rows = task.rows
    mirrored = tuple(row[::-1] for row in rows)
    return "\n".join(min(rows, mirrored, rows[::-1], mirrored[::-1]))
