"""Where a single box can be pulled to: breadth first, for all cells of the board at once.

A position is the box's cell and the side of it on which the player stands. Sets of positions are
four masks of box cells, one for each side: up, down, left, right. That makes a layer of the search
a few dozen operations on integers, which is what makes drawing levels fast.
"""

from __future__ import annotations

from llmzoo.envs.games.sokoban.board import bits, flood

Sides = tuple[int, int, int, int]


def sides(free: int, box: int, width: int) -> Sides:
    """The positions with the box on ``box`` and the player on a cell of ``free`` beside it."""
    return box & free << width, box & free >> width, box & free << 1, box & free >> 1


def pulls(free: int, box: int, width: int, start: Sides) -> list[Sides]:
    """Layer n holds the positions that n pulls reach from ``start``, and no fewer.

    ``free``: mask of the cells that are neither walls nor other boxes. ``start``: positions with
    the box on ``box``, with every side to which the player walks from one of them. Between pulls
    the player walks to any side that it reaches. Read backwards, n is the exact number of pushes
    from a position of layer n to the nearest of ``start``.
    """
    ahead = sides(free, free, width)
    layer = start
    if not any(_pulled(layer, ahead, width)):
        return [layer]
    up_down, left_right, up_left, up_right, down_left, down_right = _joined(
        free, width, _within_reach(box, ahead, width)
    )
    layers = [layer]
    seen_up, seen_down, seen_left, seen_right = layer
    while True:
        up, down, left, right = _pulled(layer, ahead, width)
        layer = (
            (up | down & up_down | left & up_left | right & up_right) & ~seen_up,
            (down | up & up_down | left & down_left | right & down_right) & ~seen_down,
            (left | right & left_right | up & up_left | down & down_left) & ~seen_left,
            (right | left & left_right | up & up_right | down & down_right) & ~seen_right,
        )
        if not any(layer):
            return layers
        layers.append(layer)
        seen_up |= layer[0]
        seen_down |= layer[1]
        seen_left |= layer[2]
        seen_right |= layer[3]


def _pulled(layer: Sides, ahead: Sides, width: int) -> Sides:
    """The positions after a pull: the box where the player was, the player one cell further."""
    return (
        layer[0] >> width & ahead[0],
        layer[1] << width & ahead[1],
        layer[2] >> 1 & ahead[2],
        layer[3] << 1 & ahead[3],
    )


def _within_reach(box: int, ahead: Sides, width: int) -> int:
    """The cells to which the box could be pulled if the player could be anywhere."""
    up, down, left, right = ahead
    while True:
        grown = box | box >> width & up | box << width & down | box >> 1 & left | box << 1 & right
        if grown == box:
            return box
        box = grown


def _joined(free: int, width: int, cells: int) -> tuple[int, int, int, int, int, int]:
    """For each pair of sides, those of ``cells`` around which the player walks from one to the other.

    Most are joined through the ring of eight cells around the box, which is seen for all cells at
    once; only where the ring is broken is the rest of the room searched.
    """
    up, down, left, right = sides(free, cells, width)
    # joined through the corner between them
    up_left, up_right = up & left & free << width + 1, up & right & free << width - 1
    down_left, down_right = down & left & free >> width - 1, down & right & free >> width + 1

    # start on one side of each box and go round the ring, one way and the other
    met_right = right & (~up | up_right)
    met_down = down & (~(up | right) | met_right & down_right)
    met_left = left & (~(up | right | down) | met_down & down_left | up & up_left)
    met_down |= met_left & down_left
    met_right |= met_down & down_right
    broken = right & ~met_right | down & ~met_down | left & ~met_left

    up_down, left_right = up & down & ~broken, left & right & ~broken
    up_left, up_right = up & left & ~broken, up & right & ~broken
    down_left, down_right = down & left & ~broken, down & right & ~broken
    for cell in bits(broken):
        box = 1 << cell
        rest = free & ~box
        above, below, before, behind = box >> width, box << width, box >> 1, box << 1
        ends = (above | below | before) & rest
        while ends:
            reach = flood(ends & -ends, rest, width)
            if reach & above:
                up_down |= box if reach & below else 0
                up_left |= box if reach & before else 0
                up_right |= box if reach & behind else 0
            if reach & below:
                down_left |= box if reach & before else 0
                down_right |= box if reach & behind else 0
            if reach & before and reach & behind:
                left_right |= box
            ends &= ~reach
    return up_down, left_right, up_left, up_right, down_left, down_right
