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
    the box on ``box``. Between pulls the player walks to any side that it reaches. Read backwards,
    n is the exact number of pushes from a position of layer n to the nearest of ``start``.
    """
    open_up, open_down, open_left, open_right = sides(free, free, width)
    up_down, left_right, up_left, up_right, down_left, down_right = _joined(free, width)

    def walked(up: int, down: int, left: int, right: int) -> Sides:
        return (
            up | down & up_down | left & up_left | right & up_right,
            down | up & up_down | left & down_left | right & down_right,
            left | right & left_right | up & up_left | down & down_left,
            right | left & left_right | up & up_right | down & down_right,
        )

    layer = walked(*start)
    layers = [layer]
    seen_up, seen_down, seen_left, seen_right = layer
    while True:
        up, down, left, right = layer
        up, down, left, right = walked(
            up >> width & open_up,
            down << width & open_down,
            left >> 1 & open_left,
            right << 1 & open_right,
        )
        layer = up & ~seen_up, down & ~seen_down, left & ~seen_left, right & ~seen_right
        if not any(layer):
            return layers
        layers.append(layer)
        seen_up |= up
        seen_down |= down
        seen_left |= left
        seen_right |= right


def _joined(free: int, width: int) -> tuple[int, int, int, int, int, int]:
    """For each pair of sides, the box cells around which the player walks from one to the other.

    Most are joined through the ring of eight cells around the box, which is seen for all cells at
    once; only where the ring is broken is the rest of the room searched.
    """
    up, down, left, right = sides(free, free, width)
    # joined through the corner between them
    up_left, up_right = up & left & free << width + 1, up & right & free << width - 1
    down_left, down_right = down & left & free >> width - 1, down & right & free >> width + 1

    # start on one side of each box and go round the ring, one way and the other
    met_up = up
    met_right = right & ~up
    met_down = down & ~(up | right)
    met_left = left & ~(up | right | down)
    met_right |= met_up & up_right
    met_down |= met_right & down_right
    met_left |= met_down & down_left | met_up & up_left
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
        ends = [side for side in (above, below, before) if side & rest]
        while ends:
            start = ends.pop(0)
            reach = flood(start, rest, width)
            if reach & above:
                up_down |= box if reach & below else 0
                up_left |= box if reach & before else 0
                up_right |= box if reach & behind else 0
            if reach & below:
                down_left |= box if reach & before else 0
                down_right |= box if reach & behind else 0
            if reach & before and reach & behind:
                left_right |= box
            ends = [side for side in ends if not side & reach]
    return up_down, left_right, up_left, up_right, down_left, down_right
