"""A level as bit masks, and tables that depend only on its walls and goals.

Cell ``row * width + column`` is bit ``1 << cell`` of a mask. Every cell that the player can reach
lies inside the outer wall, so a shift by 1 or by ``width`` never leaves the board.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

SYMBOLS = "# .$*@+"  # wall, floor, goal, box, box on goal, player, player on goal
_EMPTIED = str.maketrans("$*@+", " . .")
NEVER = 1 << 30  # push distance of a cell from which a box cannot reach the goal


@dataclass(frozen=True, slots=True)
class LevelTables:
    """The fixed parts of a level and its start.

    floor: cells that the player can reach on the level without boxes.
    dead: floor cells from which a single box cannot be pushed to any goal.
    distances: ``distances[g][cell]`` is the number of pushes of a single box from the cell to the g-th
        goal, ``NEVER`` if it is impossible, from the best side of the box.
    """

    height: int
    width: int
    floor: int
    goals: int
    player: int  # a cell
    boxes: int
    distances: tuple[tuple[int, ...], ...]
    to_goals: tuple[tuple[int, ...], ...]  # the same numbers, by cell and then by goal
    dead: int
    dead_across: int  # cells with dead cells to the left and right
    dead_along: int  # cells with dead cells above and below
    steps: dict[str, int]  # what a move adds to a cell's number
    text: str  # the level without boxes and player


@lru_cache(maxsize=4096)
def build_tables(level: str) -> LevelTables:
    """The board of a valid level in XSB text, all lines of one length."""
    width = level.index("\n")
    cells = level.replace("\n", "")
    walls = mask_of_symbols(cells, "#")
    goals = mask_of_symbols(cells, ".*+")
    player = mask_of_symbols(cells, "@+")
    everything = (1 << len(cells)) - 1
    floor = flood_fill(player, everything & ~walls, width)
    distances = tuple(
        _push_distances(1 << goal, floor, width, len(cells)) for goal in cells_in_mask(goals)
    )
    dead = floor
    for cell in cells_in_mask(floor):
        if any(distance[cell] < NEVER for distance in distances):
            dead &= ~(1 << cell)
    return LevelTables(
        height=len(cells) // width,
        width=width,
        floor=floor,
        goals=goals,
        player=player.bit_length() - 1,
        boxes=mask_of_symbols(cells, "$*"),
        distances=distances,
        to_goals=tuple(zip(*distances, strict=True)),
        dead=dead,
        dead_across=dead << 1 & dead >> 1,
        dead_along=dead << width & dead >> width,
        steps={"U": -width, "D": width, "L": -1, "R": 1},
        text=level.translate(_EMPTIED),
    )


def mask_of_symbols(cells: str, symbols: str) -> int:
    """The mask of the cells with one of ``symbols``."""
    return sum(1 << cell for cell, symbol in enumerate(cells) if symbol in symbols)


def cells_in_mask(mask: int) -> Iterator[int]:
    """The cells of a mask, in order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def flood_fill(start: int, free: int, width: int) -> int:
    """The part of ``free`` that is connected to ``start``, itself a part of ``free``."""
    while True:
        row = (start | start << 1 | start >> 1) & free
        grown = (row | row << width | row >> width) & free
        if grown == start:
            return start
        start = grown


def _push_distances(goal: int, floor: int, width: int, cells: int) -> tuple[int, ...]:
    distances = [NEVER] * cells
    reached = layer = goal
    pushes = 0
    left, right = floor & floor << 1, floor & floor >> 1  # cells with floor beside them
    above, below = floor & floor << width, floor & floor >> width
    while layer:
        for cell in cells_in_mask(layer):
            distances[cell] = pushes
        # a push reversed: the box follows the player, who needs a further floor cell
        layer = (
            layer >> 1 & left | layer << 1 & right | layer >> width & above | layer << width & below
        ) & ~reached
        reached |= layer
        pushes += 1
    return tuple(distances)
