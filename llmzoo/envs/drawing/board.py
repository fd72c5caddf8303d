"""What there is to draw: a board of cells, and where a text shows one."""

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
    "start",  # where a simulated walk began
    "path",  # where it led over; the symbol is ^, v, < or >, the way in which it went on
    "given",  # a digit of the puzzle
    "filled",  # a digit that was filled in
    "empty",
    "wrong",  # a digit that stands twice in a row, column or box, or in the place of another given
]


class Cell(NamedTuple):
    """One cell: the character that the environment's own text has for it, and what it is."""

    symbol: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Board:
    """Rows of cells, all of one length. ``block``: thick lines stand after as many cells (sudoku)."""

    rows: tuple[tuple[Cell, ...], ...]
    block: int | None = None

    def text(self) -> str:
        """The symbols, a line for each row."""
        return "\n".join("".join(cell.symbol for cell in row) for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: ``{"rows": [[{"symbol": "3", "kind": "given"}, ...], ...], "block": 2}``."""
        rows = [[cell._asdict() for cell in row] for row in self.rows]
        return {"rows": rows, "block": self.block}


@dataclass(frozen=True, slots=True)
class Sighting:
    """A board that a text shows: it may stand in the place of ``text[start:end]``.

    That part is empty where the text says in another way what the board shows, as the moves of a
    plan do: what they led to then stands after them.

    ``shows``: ``"state"`` for the board as it is, ``"simulation"`` for what a candidate plan leads
    to.
    """

    start: int
    end: int
    board: Board
    shows: Literal["state", "simulation"] = "state"
