"""A sudoku as a board, and read from a prompt."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from llmzoo.envs.drawing import Board, BoardCell, BoardInText
from llmzoo.envs.games.board_views import BoardView, read_lines
from llmzoo.envs.games.sudoku.scoring import BLANK, SIZES, grid_side, units_of

_LEGENDS = ("\nThe givens among these are:\n", "\ngivens\n")
_EMPTY = BoardCell(BLANK, "empty")
_SYMBOLS = {size: frozenset("123456789"[:size] + BLANK) for size in SIZES}


class GridPair(NamedTuple):
    """A puzzle and the grid as it is filled, each a string of size*size cells."""

    puzzle: str
    grid: str


class GridView(BoardView[GridPair]):
    """A digit is wrong if the puzzle has another given there, or if it was filled in and is twice in a
    row, a column or a box."""

    def board(self, state: GridPair) -> Board:
        puzzle, grid = state
        size = grid_side(grid)
        units = units_of(size)
        counts = Counter(
            (unit, digit)
            for cell, digit in enumerate(grid)
            if digit != BLANK
            for unit in units[cell]
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

    def state(self, text: str, start: int) -> tuple[GridPair, int] | None:
        read = _grid(text, start)
        if read is None:
            return None
        grid, end = read
        for legend in _LEGENDS:
            if text.startswith(legend, end):
                givens = _grid(text, end + len(legend))
                if givens is None or not _keeps_givens(givens[0], grid):
                    return None
                return GridPair(givens[0], grid), givens[1]
        return GridPair(grid, grid), end

    def find_simulation(
        self, state: GridPair, text: str, start: int
    ) -> tuple[BoardInText, int] | None:
        read = _grid(text, start)
        if read is None or len(read[0]) != len(state.grid):
            return None
        plan, end = read
        filled = [new if new != BLANK else old for new, old in zip(plan, state.grid, strict=True)]
        board = self.board(GridPair(state.puzzle, "".join(filled)))
        return BoardInText(start, end, board, "simulation"), end


def _grid(text: str, start: int) -> tuple[str, int] | None:
    size = text.find("\n", start, start + max(SIZES) + 1) - start
    if size not in SIZES:
        return None
    lines, end = read_lines(text, start, _SYMBOLS[size], most=size)
    return ("".join(lines), end) if len(lines) == size else None


def _keeps_givens(puzzle: str, grid: str) -> bool:
    return len(puzzle) == len(grid) and all(
        given in (BLANK, digit) for given, digit in zip(puzzle, grid, strict=True)
    )
