"""The colours of boards in pictures, in the terminal and in reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from llmzoo.envs.drawing.board import Kind

PAPER, INK = "#fbfaf6", "#2f3640"
LINE, FRAME = "#cfc8ba", "#4a5568"  # between cells; around a board and between sudoku's boxes


class CellStyle(NamedTuple):
    """A cell's colours, as ``#rrggbb``: the background, and what is drawn on it."""

    fill: str
    ink: str


_FLOOR, _GOAL, _PLAYER, _WOOD, _SAGE = "#efeae0", "#c8553d", "#2171b5", "#d3a35f", "#6f9f72"

CELLS: Mapping[Kind, CellStyle] = {
    "wall": CellStyle("#66728a", "#7c889f"),
    "floor": CellStyle(_FLOOR, LINE),
    "goal": CellStyle(_FLOOR, _GOAL),
    "box": CellStyle(_WOOD, "#7d5a28"),
    "box_on_goal": CellStyle(_SAGE, "#3a5f3d"),
    "player": CellStyle(_FLOOR, _PLAYER),
    "player_on_goal": CellStyle("#f3d9cf", _PLAYER),
    "given": CellStyle("#efeae0", INK),
    "filled": CellStyle("#ffffff", _PLAYER),
    "empty": CellStyle("#ffffff", LINE),
    "wrong": CellStyle("#f6d9d2", "#b3382c"),
    "wood": CellStyle(_WOOD, "#8f6a35"),
    "stone": CellStyle("#a9adb3", "#7b8087"),
    "brick": CellStyle("#c0694f", "#8a4331"),
    "glass": CellStyle("#bfe0ea", "#5fa3b8"),
    "iron": CellStyle("#d8d3cf", "#a0643c"),
    "door": CellStyle("#7a5230", "#d9b46a"),
    "plan": CellStyle("#ffffff", "#9a917f"),
    "earth": CellStyle("#8a7460", "#6d5a49"),
}


def parse_rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
