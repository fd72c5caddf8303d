"""Worlds of blocks as boards, for pictures, animations and the terminal."""

from __future__ import annotations

from llmzoo.envs.building.blocks import AIR, MATERIALS, SYMBOLS, Box
from llmzoo.envs.drawing import Board, BoardCell, Kind

EARTH = BoardCell("#", "earth")
FLOOR = BoardCell(".", "floor")
_GAP = BoardCell(" ", "empty")
_KINDS: tuple[Kind, ...] = ("floor", "wood", "stone", "brick", "glass", "door")
BLOCKS = tuple(BoardCell(s, kind) for s, kind in zip(SYMBOLS, _KINDS, strict=True))
_PLANS = tuple(BoardCell(name[0], "plan") for name in MATERIALS)
ANY = BoardCell("#", "plan")  # of a block of any material


def block_cell(built: int, wanted: int) -> BoardCell:
    """A block, or the plan of one where nothing stands."""
    return BLOCKS[built] if built != AIR or wanted == AIR else _PLANS[wanted]


def front_view(
    box: Box,
    grid: bytes,
    target: bytes,
    solid: bytes | None = None,
    *,
    any_material: bool = False,
) -> Board:
    """A wall of depth 1 as seen from the front, the highest row first. ``any_material``: the plan names none."""
    cells = [block_cell(*pair) for pair in zip(grid, target, strict=True)]
    if any_material:
        cells = [ANY if own.kind == "plan" else own for own in cells]
    if solid is not None:
        cells = [EARTH if hidden else own for own, hidden in zip(cells, solid, strict=True)]
    starts = reversed(range(0, box.volume, box.width))
    return Board(tuple(tuple(cells[at : at + box.width]) for at in starts))


def layer_views(box: Box, grid: bytes, target: bytes) -> Board:
    """The layers of a box from the ground up, side by side, each as seen from above."""
    rows = []
    for z in range(box.depth):
        row: list[BoardCell] = []
        for y in range(box.height):
            at = box.at(0, y, z)
            row += [_GAP] * bool(y)
            row += [block_cell(grid[i], target[i]) for i in range(at, at + box.width)]
        rows.append(tuple(row))
    return Board(tuple(rows))
