"""What a task is: a field with stacks of wood, stone and iron, two workers, and what they must gather.

A cell is ``(x, z)``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

Cell = tuple[int, int]
KINDS = ("wood", "stone", "iron")
WORKERS = ("forester", "miner")
TAKES: Mapping[str, tuple[str, ...]] = {"forester": ("wood",), "miner": ("stone", "iron")}
VIEW, REACH = 2, 2  # how far a worker sees (to the side and ahead), and takes (in steps)


class FieldLevel(NamedTuple):
    """``needs``: blocks of each of ``KINDS``. ``steps``: of a worker in a round."""

    size: int
    needs: tuple[int, int, int]
    steps: int


LEVELS = {
    "easy": FieldLevel(7, (2, 2, 0), 5),
    "normal": FieldLevel(9, (3, 3, 1), 6),
    "hard": FieldLevel(11, (4, 4, 2), 8),
}


class Stack(NamedTuple):
    """Blocks of one kind in a cell."""

    cell: Cell
    kind: str
    blocks: int


@dataclass(frozen=True)
class FieldTask:
    """``needs``: blocks to gather of each kind. ``starts``: of the forester and the miner."""

    size: int
    needs: tuple[int, int, int]
    steps: int
    starts: tuple[Cell, Cell]
    stacks: tuple[Stack, ...]


def distance(one: Cell, other: Cell) -> int:
    """Steps from cell to cell."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def visible_cells(cell: Cell, size: int) -> set[Cell]:
    """The cells that a worker sees from ``cell``."""
    x, z = cell
    return {
        (i, k)
        for i in range(max(0, x - VIEW), min(size, x + VIEW + 1))
        for k in range(max(0, z - VIEW), min(size, z + VIEW + 1))
    }


def walk_cells(start: Cell, end: Cell) -> list[Cell]:
    """The cells of a walk, without the first: along x, then along z."""
    cells, (x, z) = [], start
    while x != end[0]:
        x += 1 if end[0] > x else -1
        cells.append((x, z))
    while z != end[1]:
        z += 1 if end[1] > z else -1
        cells.append((x, z))
    return cells


def sample_candidate(
    rng: random.Random, size: int, needs: tuple[int, int, int], steps: int
) -> FieldTask:
    """A field in which each worker starts among what the other takes, and sees none of its own. It may
    be too large for the rounds there are."""
    cells = [(x, z) for x in range(size) for z in range(size)]
    while True:
        forester, miner = rng.sample(cells, 2)
        near = visible_cells(forester, size), visible_cells(miner, size)
        if not near[0] & near[1]:
            break
    free = [sorted(near[0] - {forester}), sorted(near[1] - {miner})]
    stacks = []
    for kind, need in zip(KINDS, needs, strict=True):
        place = free[1] if kind == "wood" else free[0]
        left = need + bool(need) * rng.randint(0, 2)
        while left:
            count = min(left, rng.randint(1, 3))
            stacks.append(Stack(place.pop(rng.randrange(len(place))), kind, count))
            left -= count
    return FieldTask(size, needs, steps, (forester, miner), tuple(sorted(stacks)))


def canonical(task: FieldTask) -> str:
    """The same text for fields that are mirror images or turns of each other."""
    last = task.size - 1
    images = []
    for turn in (False, True):
        for flip_x in (False, True):
            for flip_z in (False, True):

                def transform(
                    cell: Cell, turn: bool = turn, flip_x: bool = flip_x, flip_z: bool = flip_z
                ) -> Cell:
                    x, z = cell[::-1] if turn else cell
                    return (last - x if flip_x else x), (last - z if flip_z else z)

                stacks = sorted((transform(s.cell), s.kind, s.blocks) for s in task.stacks)
                images.append(f"{[*map(transform, task.starts)]} {stacks}")
    return f"{task.size} {task.needs} {min(images)}"
