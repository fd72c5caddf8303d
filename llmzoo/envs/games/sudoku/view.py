"""A sudoku as a board, and read back from a prompt. Pure functions."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from llmzoo.envs.drawing import Board, Cell
from llmzoo.envs.games.sightings import Place, View, lines_of
from llmzoo.envs.games.sudoku.scoring import BLANK, SIZES

_LEGENDS = ("\nThe givens among these are:\n", "\ngivens\n")
_EMPTY = Cell(BLANK, "empty")


class Grids(NamedTuple):
    """A puzzle and the grid as it is filled, each a string of size*size cells."""

    puzzle: str
    grid: str


def board(grids: Grids) -> Board:
    """A digit is wrong where the puzzle has another one, and a filled one where it stands twice in
    a row, a column or a box."""
    puzzle, grid = grids
    size = 4 if len(grid) == 16 else 9
    side = int(size**0.5)
    units = [
        (
            cell // size,
            size + cell % size,
            2 * size + cell // size // side * side + cell % size // side,
        )
        for cell in range(size * size)
    ]
    standing = Counter(
        (unit, digit) for cell, digit in enumerate(grid) if digit != BLANK for unit in units[cell]
    )

    def seen(cell: int) -> Cell:
        given, digit = puzzle[cell], grid[cell]
        if digit == BLANK:
            return _EMPTY
        if given != BLANK:
            return Cell(digit, "given" if given == digit else "wrong")
        twice = any(standing[unit, digit] > 1 for unit in units[cell])
        return Cell(digit, "wrong" if twice else "filled")

    cells = [seen(cell) for cell in range(size * size)]
    return Board(tuple(tuple(cells[i : i + size]) for i in range(0, size * size, size)), side)


def _state(text: str, start: int) -> tuple[Grids, int] | None:
    read = _grid(text, start)
    if read is None:
        return None
    grid, end = read
    for legend in _LEGENDS:
        if text.startswith(legend, end):
            givens = _grid(text, end + len(legend))
            if givens is None or not _keeps(givens[0], grid):
                return None
            return Grids(givens[0], grid), givens[1]
    return Grids(grid, grid), end


def _simulated(grids: Grids, text: str, start: int) -> tuple[Board, Place, int] | None:
    read = _grid(text, start)
    if read is None or len(read[0]) != len(grids.grid):
        return None
    plan, end = read
    filled = [new if new != BLANK else old for new, old in zip(plan, grids.grid, strict=True)]
    return board(Grids(grids.puzzle, "".join(filled))), Place(start, end), end


def _grid(text: str, start: int) -> tuple[str, int] | None:
    size = text.find("\n", start, start + max(SIZES) + 1) - start
    if size not in SIZES:
        return None
    lines, end = lines_of(text, start, _SYMBOLS[size], most=size)
    return ("".join(lines), end) if len(lines) == size else None


def _keeps(puzzle: str, grid: str) -> bool:
    return len(puzzle) == len(grid) and all(
        given in (BLANK, digit) for given, digit in zip(puzzle, grid, strict=True)
    )


_SYMBOLS = {size: frozenset("123456789"[:size] + BLANK) for size in SIZES}
VIEW = View(_state, board, _simulated)
