"""What a task is: a valley between two banks of different height, and the bridge that spans it.

The west bank is the earth of the columns before ``start``, up to the height ``west``; the east bank that
from ``end`` on, up to ``east``. Between them the valley floor is at y = 0, and on it stand rocks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from llmzoo.envs.building.blocks import STONE, WOOD, Box

REACH = 2  # columns beyond the middle that an agent reaches


class BridgeLevel(NamedTuple):
    """``margin``: the least and the most columns of a bank. ``step``: the largest difference between the
    heights of the banks. ``rocks``: on each side of the middle."""

    width: int
    height: int
    margin: tuple[int, int]
    step: int
    rocks: int


LEVELS = {
    "easy": BridgeLevel(14, 8, (2, 4), 2, 1),
    "normal": BridgeLevel(16, 9, (2, 5), 4, 1),
    "hard": BridgeLevel(20, 12, (2, 5), 7, 2),
}


class Bank(NamedTuple):
    """The column of a bank that is next to the valley, and its height."""

    edge: int
    height: int


@dataclass(frozen=True)
class BridgeTask:
    """``rocks``: column and height of each rock in the valley. Derived values are kept."""

    box: Box
    west: Bank
    east: Bank
    rocks: tuple[tuple[int, int], ...]

    @property
    def middle(self) -> int:
        """The first column of the eastern half."""
        return self.box.width // 2

    @cached_property
    def ground(self) -> tuple[int, ...]:
        """The height of the earth in each column."""
        rocks = dict(self.rocks)
        return tuple(
            self.west.height
            if x <= self.west.edge
            else self.east.height
            if x >= self.east.edge
            else rocks.get(x, 0)
            for x in range(self.box.width)
        )

    @cached_property
    def earth(self) -> bytes:
        """A grid of 0 and 1: the cells of the earth, which no order changes."""
        marks = bytearray(self.box.volume)
        for x, top in enumerate(self.ground):
            for y in range(top + 1):
                marks[self.box.at(x, y, 0)] = 1
        return bytes(marks)

    @cached_property
    def target(self) -> bytes:
        return build_target(self.box, self.west, self.east, self.rocks)


def deck_heights(west: Bank, east: Bank) -> dict[int, int]:
    """The height of the deck in each column between the banks: that of the lower bank, and one more each
    column up to the higher bank."""
    low = min(west.height, east.height)
    return {
        x: max(low, west.height - (x - west.edge), east.height - (east.edge - x))
        for x in range(west.edge + 1, east.edge)
    }


def build_target(box: Box, west: Bank, east: Bank, rocks: tuple[tuple[int, int], ...]) -> bytes:
    """The grid of the finished bridge: a wooden deck, and a stone pier from each rock up to it."""
    grid = bytearray(box.volume)
    heights = deck_heights(west, east)
    for x, y in heights.items():
        grid[box.at(x, y, 0)] = WOOD
    for x, top in rocks:
        for y in range(top + 1, heights.get(x, 0)):
            grid[box.at(x, y, 0)] = STONE
    return bytes(grid)


def sample_task(
    rng: random.Random, width: int, height: int, margin: tuple[int, int], step: int, rocks: int
) -> BridgeTask:
    box = Box(width, height, 1)
    west_height = rng.randint(2, height - 2)
    others = range(max(2, west_height - step), min(height - 2, west_height + step) + 1)
    east_height = rng.choice([other for other in others if other != west_height])
    west = Bank(rng.randint(*margin) - 1, west_height)
    east = Bank(width - rng.randint(*margin), east_height)
    heights = deck_heights(west, east)
    middle = width // 2
    halves = range(west.edge + 1, middle), range(middle, east.edge)
    places = sorted(x for half in halves for x in rng.sample(half, rocks))
    return BridgeTask(
        box, west, east, tuple((x, rng.randint(0, max(0, heights[x] - 2))) for x in places)
    )


def canonical(task: BridgeTask) -> str:
    """The same text for valleys that are mirror images of each other."""
    width = task.box.width
    mirrored = BridgeTask(
        task.box,
        Bank(width - 1 - task.east.edge, task.east.height),
        Bank(width - 1 - task.west.edge, task.west.height),
        tuple(sorted((width - 1 - x, top) for x, top in task.rocks)),
    )
    return min(_valley_text(task), _valley_text(mirrored))


def _valley_text(task: BridgeTask) -> str:
    return f"{tuple(task.box)} {tuple(task.west)} {tuple(task.east)} {task.rocks}"
