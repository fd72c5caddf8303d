"""A sudoku as a board."""

from __future__ import annotations

from collections import Counter

from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.games.sudoku.scoring import BLANK, grid_side, units_of

_EMPTY = BoardCell(BLANK, "empty")


def grid_board(puzzle: str, grid: str) -> Board:
    """A puzzle and the grid as it is filled, each a text of size*size cells.

    A digit is wrong if the puzzle has another given there, or if it was filled in and is twice in a row, a
    column or a box.
    """
    size = grid_side(grid)
    units = units_of(size)
    counts = Counter(
        (unit, digit) for cell, digit in enumerate(grid) if digit != BLANK for unit in units[cell]
    )

    def to_cell(cell: int) -> BoardCell:
        given, digit = puzzle[cell], grid[cell]
        if digit == BLANK:
            return _EMPTY
        if given != BLANK:
            return BoardCell(digit, "given" if given == digit else "wrong")
        twice = any(counts[unit, digit] > 1 for unit in units[cell])
        return BoardCell(digit, "wrong" if twice else "filled")

    cells = [to_cell(cell) for cell in range(size * size)]
    rows = tuple(tuple(cells[i : i + size]) for i in range(0, size * size, size))
    return Board(rows, block=int(size**0.5))
