"""Random rooms, and boxes pulled off their goals in them. Cells are masks; see ``board``."""

from __future__ import annotations

import random
from functools import lru_cache

from llmzoo.envs.games.sokoban.board import bits, flood
from llmzoo.envs.games.sokoban.pulling import Sides, pulls, sides


def room(rng: random.Random, height: int, width: int, walls: float) -> int:
    """A random connected floor: the larger part, of a room with random inner walls."""
    inner = _inner(height, width)
    size = height * width
    solid, share = 0, round(walls * 32)
    for digit in range(5):  # bits that are 1 with probability share / 32
        solid = (
            solid | rng.getrandbits(size) if share >> digit & 1 else solid & rng.getrandbits(size)
        )
    free = inner & ~solid
    if not free:
        return 0
    floor = flood(any_of(rng, free), free, width)
    return floor if 2 * floor.bit_count() > free.bit_count() else 0


def pull_one(
    rng: random.Random, floor: int, goals: int, width: int, least: int
) -> tuple[int, int] | None:
    """Box and player (masks) at least ``least`` pushes from the goal, or None."""
    layers = pulls(floor, goals, width, sides(floor, goals, width))
    if len(layers) <= least:
        return None
    layer = layers[least + int(rng.random() * (len(layers) - least))]
    return _stand(rng, layer, layer[0] | layer[1] | layer[2] | layer[3], floor, width)


def pull_all(rng: random.Random, floor: int, goals: int, width: int) -> tuple[int, int] | None:
    """Boxes and player (masks) after pulling every box off the goals, and some once more; or None."""
    boxes = goals
    player = any_of(rng, floor & ~boxes)
    waiting = list(bits(boxes))
    rng.shuffle(waiting)
    waiting += [-1 - number for number in range(len(waiting)) if rng.random() < 0.5]
    moved: list[int] = []
    failed = 0
    while waiting:
        cell = waiting.pop(0)
        if cell < 0:
            cell = moved.pop(int(rng.random() * len(moved)))
        box = 1 << cell
        free = floor & ~boxes | box  # this box moves; the others stand like walls
        reach = flood(player, floor & ~boxes, width)
        layers = pulls(free, box, width, sides(reach, box, width))
        layer = layers[int(rng.random() * (len(layers) - 1)) + 1] if len(layers) > 1 else layers[0]
        found = _stand(
            rng, layer, (layer[0] | layer[1] | layer[2] | layer[3]) & ~goals, free, width
        )
        if found is not None:
            boxes = boxes & ~box | found[0]
            player = found[1]
            moved.append(found[0].bit_length() - 1)
        elif failed:
            return None
        else:  # once more, when the others have moved
            failed = 1
            waiting.insert(1, cell)
    return boxes, player


def _stand(
    rng: random.Random, layer: Sides, cells: int, free: int, width: int
) -> tuple[int, int] | None:
    """One of ``cells`` for the box, and a cell for the player on one of the sides that ``layer`` has."""
    if not cells:
        return None
    box = any_of(rng, cells)
    beside = (
        (box & layer[0]) >> width
        | (box & layer[1]) << width
        | (box & layer[2]) >> 1
        | (box & layer[3]) << 1
    )
    return box, any_of(rng, flood(any_of(rng, beside), free & ~box, width))


def any_of(rng: random.Random, cells: int) -> int:
    """One of the cells, as a mask."""
    for _ in range(int(rng.random() * cells.bit_count())):
        cells &= cells - 1
    return cells & -cells


@lru_cache(maxsize=256)
def _inner(height: int, width: int) -> int:
    row = (1 << width - 1) - 2
    return sum(row << number * width for number in range(1, height - 1))
