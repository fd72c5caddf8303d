"""A sudoku as a board, and read from a prompt."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from llmzoo.envs.drawing import Board, BoardCell, Sighting
from llmzoo.envs.games.sightings import BoardView, lines_of
from llmzoo.envs.games.sudoku.scoring import BLANK, SIZES, side_of, units_of

_LEGENDS = ("\nThe givens among these are:\n", "\ngivens\n")
_EMPTY = BoardCell(BLANK, "empty")
_SYMBOLS = {size: frozenset("123456789"[:size] + BLANK) for size in SIZES}


class Grids(NamedTuple):
    """A puzzle and the grid as it is filled, each a string of size*size cells."""

    puzzle: str
    grid: str


class GridView(BoardView[Grids]):
    """A digit is wrong if the puzzle has another given there, or if it was filled in and is twice in a
    row, a column or a box."""

    def board(self, state: Grids) -> Board:
        puzzle, grid = state
        size = side_of(grid)
        units = units_of(size)
        counts = Counter(
            (unit, digit)
            for cell, digit in enumerate(grid)
            if digit != BLANK
            for unit in units[cell]
        )

        def seen(cell: int) -> BoardCell:
            given, digit = puzzle[cell], grid[cell]
            if digit == BLANK:
                return _EMPTY
            if given != BLANK:
                return BoardCell(digit, "given" if given == digit else "wrong")
            twice = any(counts[unit, digit] > 1 for unit in units[cell])
            return BoardCell(digit, "wrong" if twice else "filled")

        cells = [seen(cell) for cell in range(size * size)]
        rows = tuple(tuple(cells[i : i + size]) for i in range(0, size * size, size))
        return Board(rows, block=int(size**0.5))

    def state(self, text: str, start: int) -> tuple[Grids, int] | None:
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

    def simulated(self, state: Grids, text: str, start: int) -> tuple[Sighting, int] | None:
        read = _grid(text, start)
        if read is None or len(read[0]) != len(state.grid):
            return None
        plan, end = read
        filled = [new if new != BLANK else old for new, old in zip(plan, state.grid, strict=True)]
        board = self.board(Grids(state.puzzle, "".join(filled)))
        return Sighting(start, end, board, "simulation"), end


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
