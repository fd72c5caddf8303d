"""A grid with a walker as a board, and read back from a prompt. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.drawing import Board, Cell
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.sightings import Place, View, candidate_moves, lines_of

_CELLS = {
    "#": Cell("#", "wall"),
    ".": Cell(".", "floor"),
    "G": Cell("G", "goal"),
    "@": Cell("@", "player"),
}
_SYMBOLS = frozenset(_CELLS)
_ARRIVED, _START = Cell("@", "player_on_goal"), Cell("S", "start")
_STEPS = {move: Cell(sign, "path") for move, sign in zip("UDLR", "^v<>", strict=True)}


def board(rows: Sequence[str]) -> Board:
    """A grid as the game draws it; where no goal is seen, the walker stands on it."""
    cells = [list(map(_CELLS.__getitem__, row)) for row in rows]
    if not any("G" in row for row in rows):
        row, column = _walker(rows)
        cells[row][column] = _ARRIVED
    return Board(tuple(map(tuple, cells)))


def walked(rows: Sequence[str], moves: str) -> Board:
    """The grid after a walk up to the goal or the first move that is blocked, and the way taken."""
    cells = [list(row) for row in board(rows).rows]
    row, column = begun = _walker(rows)
    for move in moves:
        down, right = row + DELTAS[move][0], column + DELTAS[move][1]
        inside = 0 <= down < len(rows) and 0 <= right < len(rows[0])
        if not inside or rows[down][right] == "#" or cells[row][column] is _ARRIVED:
            break
        cells[row][column] = _START if (row, column) == begun else _STEPS[move]
        row, column = down, right
        if rows[row][column] == "G":
            cells[row][column] = _ARRIVED
    if cells[row][column] is not _ARRIVED:
        cells[row][column] = _CELLS["@"]
    return Board(tuple(map(tuple, cells)))


def _walker(rows: Sequence[str]) -> tuple[int, int]:
    return next((number, row.index("@")) for number, row in enumerate(rows) if "@" in row)


def _state(text: str, start: int) -> tuple[Sequence[str], int] | None:
    rows, end = lines_of(text, start, _SYMBOLS)
    walkers = sum(row.count("@") for row in rows)
    goals = sum(row.count("G") for row in rows)
    return (rows, end) if walkers == 1 and goals <= 1 else None


def _simulated(rows: Sequence[str], text: str, start: int) -> tuple[Board, Place, int] | None:
    moves = candidate_moves(text, start)
    if not moves:
        return None
    end = start + len(moves)
    return walked(rows, moves), Place(end, end), end


VIEW = View(_state, board, _simulated)
