"""The colours of boards in pictures, in the terminal and in reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from llmzoo.envs.drawing.board import Kind

PAPER, INK = "#fbfaf6", "#2f3640"
LINE, FRAME = "#cfc8ba", "#4a5568"  # between cells; around a board and between sudoku's boxes


class Look(NamedTuple):
    """A cell's colours, as ``#rrggbb``: the background, and what is drawn on it."""

    fill: str
    ink: str


_FLOOR, _GOAL, _PLAYER, _WOOD, _SAGE = "#efeae0", "#c8553d", "#2171b5", "#d3a35f", "#6f9f72"

CELLS: Mapping[Kind, Look] = {
    "wall": Look("#66728a", "#7c889f"),
    "floor": Look(_FLOOR, LINE),
    "goal": Look(_FLOOR, _GOAL),
    "box": Look(_WOOD, "#7d5a28"),
    "box_on_goal": Look(_SAGE, "#3a5f3d"),
    "player": Look(_FLOOR, _PLAYER),
    "player_on_goal": Look("#f3d9cf", _PLAYER),
    "start": Look("#bdd5ea", _PLAYER),
    "path": Look("#d3e4f1", "#4f8abd"),
    "given": Look("#efeae0", INK),
    "filled": Look("#ffffff", _PLAYER),
    "empty": Look("#ffffff", LINE),
    "wrong": Look("#f6d9d2", "#b3382c"),
    "wood": Look(_WOOD, "#8f6a35"),
    "stone": Look("#a9adb3", "#7b8087"),
    "brick": Look("#c0694f", "#8a4331"),
    "glass": Look("#bfe0ea", "#5fa3b8"),
    "iron": Look("#d8d3cf", "#a0643c"),
    "door": Look("#7a5230", "#d9b46a"),
    "plan": Look("#ffffff", "#9a917f"),
    "earth": Look("#8a7460", "#6d5a49"),
}


def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
