"""Random rooms, and boxes pulled off their goals in them. Cells are masks; see :mod:`.levels`."""

from __future__ import annotations

import random
from functools import lru_cache

from llmzoo.envs.games.sokoban.levels import bits, flood
from llmzoo.envs.games.sokoban.pulling import Sides, pulls, sides


def room(rng: random.Random, height: int, width: int, walls: float) -> int:
    """A random connected floor: the part with most cells, of a room with random inner walls.

    0 when no part has more than half of the cells.
    """
    inner, digits = _plan(height, width, walls)
    solid, size = 0, height * width
    for digit in digits:
        if digit:
            solid |= rng.getrandbits(size)
        else:
            solid &= rng.getrandbits(size)
    rest = inner & ~solid
    most = rest.bit_count()
    while 2 * rest.bit_count() > most:
        floor = flood(rest & -rest, rest, width)
        if 2 * floor.bit_count() > most:
            return floor
        rest ^= floor
    return 0


@lru_cache(maxsize=256)
def _plan(height: int, width: int, walls: float) -> tuple[int, tuple[int, ...]]:
    """The inner cells, and ``walls`` in binary (sixteenths), last digit first.

    Random bits joined by "or" for a 1 and by "and" for a 0 come out as 1 with that probability.
    """
    row = (1 << width - 1) - 2
    inner = sum(row << number * width for number in range(1, height - 1))
    share = round(walls * 16)
    digits = [share >> place & 1 for place in range(4)]
    while digits and not digits[0]:
        del digits[0]
    return inner, tuple(digits)


def pull_one(
    rng: random.Random, floor: int, goal: int, width: int, least: int
) -> tuple[int, int] | None:
    """Box and player (masks) at least ``least`` pushes from the goal, or None."""
    layers = pulls(floor, width, sides(floor, goal, width))
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
    again = sum(rng.random() < 0.5 for _ in waiting)
    moved: list[int] = []
    failed = False
    while waiting or again:
        if waiting:
            cell = waiting.pop(0)
        else:
            cell = moved.pop(int(rng.random() * len(moved)))
            again -= 1
        box = 1 << cell
        free = floor & ~boxes | box  # this box moves; the others stand like walls
        reach = flood(player, floor & ~boxes, width)
        layers = pulls(free, width, sides(reach, box, width))[1:]
        found = None
        if layers:
            layer = layers[int(rng.random() * len(layers))]
            cells = (layer[0] | layer[1] | layer[2] | layer[3]) & ~goals
            found = _stand(rng, layer, cells, free, width) if cells else None
        if found is not None:
            boxes = boxes & ~box | found[0]
            player = found[1]
            moved.append(found[0].bit_length() - 1)
        elif not box & goals:
            moved.append(cell)
        elif failed or not waiting:
            return None
        else:  # once more, when another has moved
            failed = True
            waiting.insert(1, cell)
    return boxes, player


def any_of(rng: random.Random, cells: int) -> int:
    """One of the cells, as a mask."""
    for _ in range(int(rng.random() * cells.bit_count())):
        cells &= cells - 1
    return cells & -cells


def _stand(rng: random.Random, layer: Sides, cells: int, free: int, width: int) -> tuple[int, int]:
    """One of ``cells`` for the box; for the player, a cell in reach of a side that ``layer`` has."""
    box = any_of(rng, cells)
    beside = (box & layer[0]) >> width | (box & layer[1]) << width
    beside |= (box & layer[2]) >> 1 | (box & layer[3]) << 1
    side = any_of(rng, beside) if beside & (beside - 1) else beside
    return box, any_of(rng, flood(side, free & ~box, width))
