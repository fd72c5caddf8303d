"""What a task is: a house in a box of cells, drawn at random.

A house has a floor, four walls with a door and windows, and a roof, which is flat or, on a hard task, has
a ridge. Floor, walls and roof are of wood, stone or brick.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from llmzoo.envs.building.blocks import BRICK, DOOR, GLASS, STONE, WOOD, Box

SOLID = (WOOD, STONE, BRICK)


class HouseLevel(NamedTuple):
    """``sides`` and ``walls``: the least and the most cells of a side of the ground and of the height of
    the walls. ``windows``: their least and most number."""

    sides: tuple[int, int]
    walls: tuple[int, int]
    windows: tuple[int, int]
    ridge: bool


LEVELS = {
    "easy": HouseLevel((3, 5), (2, 2), (1, 2), False),
    "normal": HouseLevel((4, 6), (2, 3), (2, 3), False),
    "hard": HouseLevel((5, 8), (3, 4), (3, 5), True),
}


@dataclass(frozen=True)
class HouseTask:
    """``target``: the grid of the finished house. ``walls``, ``roof``, ``openings`` (the door and the windows):
    the cells of its parts."""

    box: Box
    target: bytes
    walls: tuple[int, ...]
    roof: tuple[int, ...]
    openings: tuple[int, ...]

    @cached_property
    def counts(self) -> dict[int, int]:
        """The blocks of each material."""
        return {material: self.target.count(material) for material in (*SOLID, GLASS, DOOR)}

    def stock(self, builders: int) -> dict[int, int]:
        """What each of ``builders`` may place: its share, and about half of a share more."""
        return {
            m: (n + builders - 1) // builders + n // (2 * builders) for m, n in self.counts.items()
        }


def sample_task(
    rng: random.Random,
    sides: tuple[int, int],
    walls: tuple[int, int],
    windows: tuple[int, int],
    ridge: bool,
) -> HouseTask:
    width, depth = rng.randint(*sides), rng.randint(*sides)
    tall = rng.randint(*walls)
    roof = (depth + 1) // 2 if ridge else 1  # layers
    box = Box(width, 1 + tall + roof, depth)
    below, around, above = rng.choice(SOLID), rng.choice(SOLID), rng.choice(SOLID)
    grid = bytearray(box.volume)
    parts: dict[str, list[int]] = {"walls": [], "roof": [], "openings": []}
    for z in range(depth):
        for x in range(width):
            grid[box.at(x, 0, z)] = below
            edge = x in (0, width - 1) or z in (0, depth - 1)
            for y in range(1, tall + 1) if edge else ():
                grid[box.at(x, y, z)] = around
                parts["walls"].append(box.at(x, y, z))
            for layer in range(roof):
                if layer <= z < depth - layer:
                    grid[box.at(x, 1 + tall + layer, z)] = above
                    parts["roof"].append(box.at(x, 1 + tall + layer, z))
    free = _wall_columns(width, depth)
    x, z = free.pop(rng.randrange(len(free)))
    openings = {box.at(x, y, z): DOOR for y in (1, 2)}
    panes = [(x, y, z) for x, z in free for y in range(1, tall + 1)]
    for place in rng.sample(panes, rng.randint(*windows)):
        openings[box.at(*place)] = GLASS
    for at, material in openings.items():
        grid[at] = material
    kept = tuple(at for at in parts["walls"] if at not in openings)
    return HouseTask(box, bytes(grid), kept, tuple(parts["roof"]), tuple(sorted(openings)))


def canonical(task: HouseTask) -> str:
    """The same text for houses that differ by a mirror image, by a turn about the vertical, or by which of
    wood, stone and brick stands where."""
    box = task.box
    cells = np.frombuffer(task.target, dtype=np.uint8).reshape(box.height, box.depth, box.width)
    images = [
        one
        for turned in (cells, cells.transpose(0, 2, 1))
        for one in (turned, turned[:, ::-1], turned[:, :, ::-1], turned[:, ::-1, ::-1])
    ]
    return min(f"{one.shape} {_rename_materials(one.tobytes()).hex()}" for one in images)


def _rename_materials(grid: bytes) -> bytes:
    """The grid with wood, stone and brick numbered in the order in which they come."""
    there = sorted((material for material in SOLID if material in grid), key=grid.index)
    return grid.translate(bytes.maketrans(bytes(there), bytes(SOLID[: len(there)])))


def _wall_columns(width: int, depth: int) -> list[tuple[int, int]]:
    """x and z of the columns of the walls that are no corners."""
    along = [(x, z) for z in (0, depth - 1) for x in range(1, width - 1)]
    return along + [(x, z) for x in (0, width - 1) for z in range(1, depth - 1)]
