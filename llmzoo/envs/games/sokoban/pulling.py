"""Where a single box can be pulled to: breadth first, for all cells of the board at once.

A position is the box's cell and the side of it on which the player stands. Sets of positions are
four masks of box cells, one for each side: up, down, left, right. That makes a layer of the search
a few dozen operations on integers, which is what makes drawing levels fast.
"""

from __future__ import annotations

from llmzoo.envs.games.sokoban.levels import bits, flood

Sides = tuple[int, int, int, int]


def sides(free: int, box: int, width: int) -> Sides:
    """The positions with the box on a cell of ``box`` and the player on a cell of ``free``."""
    return box & free << width, box & free >> width, box & free << 1, box & free >> 1


def pullable(free: int, width: int) -> int:
    """The cells from which a box could be pulled one cell, by a player on the right side of it."""
    up, down, left, right = _pullable(free, width)
    return up | down | left | right


def pullable_twice(free: int, width: int) -> int:
    """The cells from which a box could be pulled two cells away, by a player who gets anywhere."""
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
    """Layer n holds the positions that n pulls reach from ``start``, and no fewer.

    ``free``: mask of the cells that are neither walls nor other boxes. ``start``: positions with
    every side to which the player walks from one of them. Between pulls the player walks to any
    side that it reaches. Read backwards, n is the exact number of pushes from a position of layer n
    to the nearest of ``start``.
    """
    open_up, open_down, open_left, open_right = sides(free, free, width)
    joined = _joined(free, width)
    layers = [start]
    seen_up, seen_down, seen_left, seen_right = up, down, left, right = start
    while True:
        # the box comes to where the player was, the player one cell further
        up = up >> width & open_up & ~seen_up
        down = down << width & open_down & ~seen_down
        left = left >> 1 & open_left & ~seen_left
        right = right << 1 & open_right & ~seen_right
        boxes = up | down | left | right
        if not boxes:
            return layers
        for cell in bits(boxes & ~joined):
            box = 1 << cell
            beside = (box & up) >> width | (box & down) << width
            beside |= (box & left) >> 1 | (box & right) << 1
            reach = flood(beside, free & ~box, width)
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


def _joined(free: int, width: int) -> int:
    """The cells whose free sides are all joined through the ring of eight cells around them."""
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
