"""The cells of a grid by name, and a walk as the names of its cells.

A cell's name is the letter of its column and the number of its row, as in chess and spreadsheets but
from the top: ``a1`` is the first cell, ``c2`` the third of the second row, ``aa1`` the 27th of the first
row. A position is ``(row, column)``, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from llmzoo.envs.games.moves import DELTAS, NOISE, parse_moves
from llmzoo.envs.text import MalformedError

JUMP = "J"  # stands in a plan for a step to a cell that is no neighbour; it is always blocked

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_CELL = re.compile(r"([A-Za-z]{1,2})([0-9]{1,2})")
_CELLS = re.compile(r"(?:[A-Za-z]{1,2}[0-9]{1,2})+")
_MOVES = {delta: move for move, delta in DELTAS.items()}
_FORM = "write the cells of the walk in order, such as a1 a2 b2, or its moves, such as DR"

ANSWER_FORM = (
    "The last line of your answer counts: the cells of the walk in order, such as a1 a2 b2, or its moves U, "
    "D, L and R. Working may stand above it."
)

Position = tuple[int, int]


@cache
def cell_name(row: int, column: int) -> str:
    """The name of a cell in one of the first 702 columns."""
    first, last = divmod(column, 26)
    return f"{_ALPHABET[first - 1] if first else ''}{_ALPHABET[last]}{row + 1}"


def format_cells(label: str, cells: Iterable[Position]) -> str:
    """A line with a label and the names of cells; "none" if there are none."""
    return f"{label}: {' '.join([cell_name(*cell) for cell in cells]) or 'none'}"


def parse_walk(text: str, position: Position, limit: int = 1000) -> str:
    """The moves of an answer as a string of ``U``, ``D``, ``L`` and ``R``.

    The last line with a letter or a digit counts, and in it what follows the last colon; working may
    stand above. If there is a cell in it, everything from the first cell on has to be cells: those of a
    walk from ``position``, with it or without it, whatever punctuation stands between them. At the first
    cell that is no neighbour of the one before, the moves end with :data:`JUMP`. A line without cells is
    read by :func:`parse_moves`. Raises :class:`MalformedError` for anything else, and for more than ``limit``
    steps. The time is linear in the length of the text.
    """
    line = next((line for line in reversed(text.split("\n")) if re.search(r"[^\W_]", line)), "")
    words = NOISE.sub(" ", line.rpartition(":")[2]).split()
    first = next((n for n, word in enumerate(words) if _CELLS.fullmatch(word)), None)
    if first is None:
        try:
            return parse_moves(line, limit)
        except MalformedError as malformed:
            many = "at most" in str(malformed)
            raise MalformedError(
                str(malformed) if many else f"no walk in its last line; {_FORM}"
            ) from None
    cells: list[Position] = []
    for number, word in enumerate(words[first:], start=first + 1):
        if not _CELLS.fullmatch(
            word
        ):  # the word itself is free text, which another agent would read
            raise MalformedError(f"word {number} of its last line is no cell; {_FORM}")
        cells += [_parse_cell(*cell) for cell in _CELL.findall(word)]
    if cells[0] == position:
        del cells[0]
    if not cells:
        raise MalformedError(f"its last line names only the cell where the walk begins; {_FORM}")
    if len(cells) > limit:
        raise MalformedError(f"{len(cells)} steps; at most {limit} are allowed")
    moves = ""
    for cell in cells:
        move = _MOVES.get((cell[0] - position[0], cell[1] - position[1]), JUMP)
        moves += move
        if move == JUMP:
            break
        position = cell
    return moves


def _parse_cell(column: str, row: str) -> Position:
    number = 0
    for letter in column.lower():
        number = 26 * number + _ALPHABET.index(letter) + 1
    return int(row) - 1, number - 1


def format_walk(moves: str, position: Position, size: tuple[int, int]) -> str:
    """The cells that moves lead to from ``position``, up to a jump or to the edge of a grid with
    ``size`` rows and columns. Where they lead to none: the moves themselves, or "no step" for a jump."""
    names = []
    row, column = position
    moves = moves.removesuffix(JUMP)
    for move in moves:
        row, column = row + DELTAS[move][0], column + DELTAS[move][1]
        if not (0 <= row < size[0] and 0 <= column < size[1]):
            break
        names.append(cell_name(row, column))
    return " ".join(names) or moves or "no step"


def describe_blocked_move(number: int, move: str) -> str:
    """That a move was not possible, in words; ``number``: from 1."""
    if move == JUMP:
        return f"move {number} led to no neighbour"
    return f"move {number} ({move}) was blocked"
