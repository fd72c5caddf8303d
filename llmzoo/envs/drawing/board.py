"""Boards of cells, and the boards that a text shows."""

from __future__ import annotations

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
    "start",  # of a simulated walk
    "path",  # a cell of the walk; the symbol ^, v, < or > is the direction in which it went on
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
        """For JSON: ``{"rows": [[{"symbol": "3", "kind": "given"}, ...], ...], "block": 2}``."""
        rows = [[cell._asdict() for cell in row] for row in self.rows]
        return {"rows": rows, "block": self.block}


@dataclass(frozen=True, slots=True)
class BoardInText:
    """A board that a text shows. It can be drawn instead of ``text[start:end]``.

    This part is empty if the text has no board, such as the moves of a plan: then the board of their
    result is drawn after them.

    ``shows``: ``"state"`` for the board as it is, ``"simulation"`` for the result of a candidate plan.
    """

    start: int
    end: int
    board: Board
    shows: Literal["state", "simulation"] = "state"
