"""Boards of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "wall",
    "floor",
    "goal",
    "box",
    "box_on_goal",
    "player",
    "player_on_goal",
    "given",  # a digit of the puzzle
    "filled",  # a digit that was filled in
    "empty",
    "wrong",  # a digit that is twice in a row, column or box, or that replaces a given
    "wood",  # blocks of a building, by their material
    "stone",
    "brick",
    "glass",
    "iron",
    "door",
    "plan",  # a cell of a building where no block stands yet; the symbol is that of its material
    "earth",
]


class BoardCell(NamedTuple):
    """One cell: its character in the environment's own text, and its kind."""

    symbol: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Board:
    """Rows of cells, all of one length. ``block``: a thick line follows this many cells (sudoku)."""

    rows: tuple[tuple[BoardCell, ...], ...]
    block: int | None = None

    def text(self) -> str:
        """The symbols, a line for each row."""
        return "\n".join("".join(cell.symbol for cell in row) for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each different cell once, and the rows as indices of ``cells``.

        ``{"cells": [["3", "given"], [".", "empty"]], "rows": [[0, 1], [1, 1]], "block": 2}``
        """
        numbers: dict[BoardCell, int] = {}
        rows = [[numbers.setdefault(cell, len(numbers)) for cell in row] for row in self.rows]
        return {"cells": list(map(list, numbers)), "rows": rows, "block": self.block}


def parse_board(text: str, cells: Mapping[str, BoardCell]) -> Board:
    """The board of lines of symbols. ``cells``: the cell of each symbol; others are empty cells."""
    return Board(
        tuple(
            tuple(cells.get(symbol) or BoardCell(symbol, "empty") for symbol in line)
            for line in text.split("\n")
        )
    )
