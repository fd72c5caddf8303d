"""A sokoban position as a board, and read back from a prompt. Pure functions.

Moves are made on the text itself: a text that only looks like a level may be as large as it likes,
and the tables that the game keeps of its levels (:mod:`.board`) are not made for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.drawing import Board, Cell
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.sightings import Place, View, candidate_moves, lines_of

_CELLS = {
    "#": Cell("#", "wall"),
    " ": Cell(" ", "floor"),
    ".": Cell(".", "goal"),
    "$": Cell("$", "box"),
    "*": Cell("*", "box_on_goal"),
    "@": Cell("@", "player"),
    "+": Cell("+", "player_on_goal"),
}
_SYMBOLS = frozenset(_CELLS)
_ENTERED, _LEFT = {" ": "@", ".": "+"}, {"@": " ", "+": "."}
_UNBOXED, _BOXED = {"$": " ", "*": "."}, {" ": "$", ".": "*"}


def board(rows: Sequence[str]) -> Board:
    """A position of XSB symbols."""
    return Board(tuple(tuple(map(_CELLS.__getitem__, row)) for row in rows))


def after(rows: Sequence[str], moves: str) -> list[str]:
    """The position after ``moves``, up to the first that is impossible or until it is solved."""
    cells = [list(row) for row in rows]
    row, column = next((r, c) for r, line in enumerate(rows) for c in _player_in(line))
    left = sum(line.count("$") for line in rows)

    def symbol(r: int, c: int) -> str:
        return cells[r][c] if 0 <= r < len(cells) and 0 <= c < len(cells[r]) else "#"

    for move in moves:
        if not left:
            break
        down, right = DELTAS[move]
        ahead = symbol(row + down, column + right)
        if ahead in _UNBOXED:
            beyond = symbol(row + 2 * down, column + 2 * right)
            if beyond not in _BOXED:
                break
            cells[row + 2 * down][column + 2 * right] = _BOXED[beyond]
            left += (ahead == "*") - (beyond == ".")
            ahead = _UNBOXED[ahead]
        elif ahead == "#":
            break
        cells[row][column] = _LEFT[cells[row][column]]
        row, column = row + down, column + right
        cells[row][column] = _ENTERED[ahead]
    return ["".join(line) for line in cells]


def _player_in(line: str) -> list[int]:
    return [place for place in (line.find("@"), line.find("+")) if place >= 0]


def _state(text: str, start: int) -> tuple[Sequence[str], int] | None:
    rows, end = lines_of(text, start, _SYMBOLS)
    players = sum(line.count("@") + line.count("+") for line in rows)
    return (rows, end) if players == 1 else None


def _simulated(rows: Sequence[str], text: str, start: int) -> tuple[Board, Place, int] | None:
    moves = candidate_moves(text, start)
    if not moves:
        return None
    end = start + len(moves)
    return board(after(rows, moves)), Place(end, end), end


VIEW = View(_state, board, _simulated)
