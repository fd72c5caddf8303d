"""Random rooms, and boxes pulled off their goals in them.

Cells are bits of a mask; see :mod:`.levels`. A position of a box is its cell and the side of it on which
the player is. A set of positions is four masks of box cells, one for each side: up, down, left, right.
So a layer of the search is a few dozen operations on integers, which makes drawing levels fast.
"""

from __future__ import annotations

import random
from functools import lru_cache

from llmzoo.envs.games.sokoban.levels import cells_in_mask, flood_fill

Sides = tuple[int, int, int, int]


def sides(free: int, box: int, width: int) -> Sides:
    """The positions of boxes on ``box`` with the player on ``free``."""
    return box & free << width, box & free >> width, box & free << 1, box & free >> 1


def pullable(free: int, width: int) -> int:
    """The cells from which a box can be pulled one cell, if the player is on the right side."""
    up, down, left, right = _pullable(free, width)
    return up | down | left | right


def pullable_twice(free: int, width: int) -> int:
    """The cells from which a box can be pulled two cells away, if the player can go anywhere."""
    up, down, left, right = _pullable(free, width)
    upright, level = up | down, left | right
    return (
        (up & (up | level) << width)
        | (down & (down | level) >> width)
        | (left & (left | upright) << 1)
        | (right & (right | upright) >> 1)
    )


def _pullable(free: int, width: int) -> Sides:
    up, down, left, right = sides(free, free, width)
    return free & up << width, free & down >> width, free & left << 1, free & right >> 1


def pulls(free: int, width: int, start: Sides) -> list[Sides]:
    """Layer n has the positions that take exactly n pulls from ``start``.

    free: mask of the cells that are neither walls nor other boxes.
    start: positions, with every side that the player reaches from one of them.

    Between pulls the player walks to any side that it reaches. In reverse, n is the exact number of
    pushes from a position of layer n to the nearest position of ``start``.
    """
    open_up, open_down, open_left, open_right = sides(free, free, width)
    joined = _locally_connected(free, width)
    layers = [start]
    seen_up, seen_down, seen_left, seen_right = up, down, left, right = start
    while True:
        # the box moves to the player's cell, the player one cell further
        up = up >> width & open_up & ~seen_up
        down = down << width & open_down & ~seen_down
        left = left >> 1 & open_left & ~seen_left
        right = right << 1 & open_right & ~seen_right
        boxes = up | down | left | right
        if not boxes:
            return layers
        for cell in cells_in_mask(boxes & ~joined):
            box = 1 << cell
            beside = (box & up) >> width | (box & down) << width
            beside |= (box & left) >> 1 | (box & right) << 1
            reach = flood_fill(beside, free & ~box, width)
            up |= box & reach << width
            down |= box & reach >> width
            left |= box & reach << 1
            right |= box & reach >> 1
        boxes &= joined
        up |= boxes & open_up
        down |= boxes & open_down
        left |= boxes & open_left
        right |= boxes & open_right
        layers.append((up, down, left, right))
        seen_up |= up
        seen_down |= down
        seen_left |= left
        seen_right |= right


def _locally_connected(free: int, width: int) -> int:
    """The cells whose free sides are all connected through the ring of eight cells around them."""
    up, down, left, right = sides(free, free, width)
    # joined through the corner between them
    up_left, up_right = up & left & free << width + 1, up & right & free << width - 1
    down_left, down_right = down & left & free >> width - 1, down & right & free >> width + 1
    # start on one side and go round the ring, one way and the other
    met_right = right & (~up | up_right)
    met_down = down & (~(up | right) | met_right & down_right)
    met_left = left & (~(up | right | down) | met_down & down_left | up_left)
    met_down |= met_left & down_left
    met_right |= met_down & down_right
    return free & ~(right & ~met_right | down & ~met_down | left & ~met_left)


def sample_room(rng: random.Random, height: int, width: int, walls: float) -> int:
    """A random connected floor: the largest part of a room with random inner walls.

    0 if no part has more than half of the cells.
    """
    inner, digits = _wall_bits(height, width, walls)
    solid, size = 0, height * width
    for digit in digits:
        if digit:
            solid |= rng.getrandbits(size)
        else:
            solid &= rng.getrandbits(size)
    rest = inner & ~solid
    most = rest.bit_count()
    while 2 * rest.bit_count() > most:
        floor = flood_fill(rest & -rest, rest, width)
        if 2 * floor.bit_count() > most:
            return floor
        rest ^= floor
    return 0


@lru_cache(maxsize=256)
def _wall_bits(height: int, width: int, walls: float) -> tuple[int, tuple[int, ...]]:
    """The inner cells, and ``walls`` in binary (sixteenths), last digit first.

    Combine random bits with "or" for a 1 and with "and" for a 0: the result is 1 with that probability.
    """
    row = (1 << width - 1) - 2
    inner = sum(row << number * width for number in range(1, height - 1))
    share = round(walls * 16)
    digits = [share >> digit & 1 for digit in range(4)]
    while digits and not digits[0]:
        del digits[0]
    return inner, tuple(digits)


def pull_one_box(
    rng: random.Random, floor: int, goal: int, width: int, least: int
) -> tuple[int, int] | None:
    """Box and player (masks) at least ``least`` pushes from the goal; None if there is no such position."""
    layers = pulls(floor, width, sides(floor, goal, width))
    if len(layers) <= least:
        return None
    layer = layers[least + int(rng.random() * (len(layers) - least))]
    return _sample_placement(rng, layer, layer[0] | layer[1] | layer[2] | layer[3], floor, width)


def pull_all_boxes(
    rng: random.Random, floor: int, goals: int, width: int
) -> tuple[int, int] | None:
    """Boxes and player (masks) after every box was pulled off the goals, and some twice. None if it
    fails."""
    boxes = goals
    player = sample_cell(rng, floor & ~boxes)
    waiting = list(cells_in_mask(boxes))
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
        free = floor & ~boxes | box  # this box moves; the others are like walls
        reach = flood_fill(player, floor & ~boxes, width)
        layers = pulls(free, width, sides(reach, box, width))[1:]
        pulled = None
        if layers:
            layer = layers[int(rng.random() * len(layers))]
            cells = (layer[0] | layer[1] | layer[2] | layer[3]) & ~goals
            pulled = _sample_placement(rng, layer, cells, free, width) if cells else None
        if pulled is not None:
            boxes = boxes & ~box | pulled[0]
            player = pulled[1]
            moved.append(pulled[0].bit_length() - 1)
        elif not box & goals:
            moved.append(cell)
        elif failed or not waiting:
            return None
        else:  # again, after another box has moved
            failed = True
            waiting.insert(1, cell)
    return boxes, player


def sample_cell(rng: random.Random, cells: int) -> int:
    """One of the cells at random, as a mask."""
    for _ in range(int(rng.random() * cells.bit_count())):
        cells &= cells - 1
    return cells & -cells


def _sample_placement(
    rng: random.Random, layer: Sides, cells: int, free: int, width: int
) -> tuple[int, int]:
    """One of ``cells`` for the box, and a cell for the player, connected to a side in ``layer``."""
    box = sample_cell(rng, cells)
    beside = (box & layer[0]) >> width | (box & layer[1]) << width
    beside |= (box & layer[2]) >> 1 | (box & layer[3]) << 1
    side = sample_cell(rng, beside) if beside & (beside - 1) else beside
    return box, sample_cell(rng, flood_fill(side, free & ~box, width))
