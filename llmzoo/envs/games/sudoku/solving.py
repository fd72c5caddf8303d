"""The solutions of a puzzle. Before a guess, cells with one possible digit are filled in, and digits
with one possible cell in a unit.

A set of cells is an integer with a bit for each cell. For each digit there is the set of cells that may
still hold it, so most steps treat all cells at once.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from llmzoo.envs.games.sudoku.scoring import BLANK, grid_side, units_of


class _Grid(NamedTuple):
    """``units``: the cells of each row, column and box. ``others``: for each cell, all cells that share
    no unit with it."""

    every: int
    units: tuple[int, ...]
    others: tuple[int, ...]


def find_solutions(puzzle: str, limit: int) -> list[str]:
    """The solutions of a puzzle, sorted; only ``limit`` of them if there are more."""
    size = grid_side(puzzle)
    grid = _grid(size)
    may = [grid.every] * size  # by digit
    done = 0
    for cell, symbol in enumerate(puzzle):
        if symbol != BLANK:
            if not may[int(symbol) - 1] >> cell & 1:
                return []
            _place_digit(may, int(symbol) - 1, cell, grid)
            done |= 1 << cell
    complete: list[str] = []
    _search(may, done, grid, limit, complete)
    return sorted(complete)


def _place_digit(may: list[int], digit: int, cell: int, grid: _Grid) -> None:
    """Write a digit into a cell."""
    bit = 1 << cell
    without = ~bit
    for other, cells in enumerate(may):
        if cells & bit:
            may[other] = cells & without
    may[digit] = may[digit] & grid.others[cell] | bit


def _search(may: list[int], done: int, grid: _Grid, limit: int, complete: list[str]) -> None:
    """``done``: the cells that are filled in, and whose digits are ruled out in their units."""
    settled = _propagate(may, done, grid)
    if settled is None:
        return
    open_cells, done = settled
    if not open_cells:
        complete.append(_grid_text(may, grid))
        return
    for digit, cell in _guesses(may, open_cells, grid):
        guess = may.copy()
        _place_digit(guess, digit, cell, grid)
        _search(guess, done | 1 << cell, grid, limit, complete)
        if len(complete) >= limit:
            return


def _propagate(may: list[int], done: int, grid: _Grid) -> tuple[int, int] | None:
    """Fill in what follows. Returns the cells with several digits left and the cells that are done, or
    None if there is no solution."""
    while True:
        once = several = 0
        for cells in may:
            several |= once & cells
            once |= cells
        if once != grid.every:
            return None  # a cell has no digit left
        alone = grid.every & ~several & ~done
        if alone:
            done |= alone
            for digit, cells in enumerate(may):
                rest = cells & alone
                while rest:
                    bit = rest & -rest
                    rest ^= bit
                    cells &= grid.others[bit.bit_length() - 1] | bit
                may[digit] = cells
            continue
        before = done
        for digit, cells in enumerate(may):
            if not cells & several:
                if cells.bit_count() < len(may):
                    return None
                continue
            for unit in grid.units:
                here = cells & unit
                if not here:
                    return None  # a digit has no cell left in a unit
                if not here & (here - 1) and here & several:
                    _place_digit(may, digit, here.bit_length() - 1, grid)
                    cells = may[digit]
                    several &= ~here
                    done |= here
        if done == before:
            return several, done


def _guesses(may: list[int], open_cells: int, grid: _Grid) -> list[tuple[int, int]]:
    """The guesses, as few as possible: the digits of a cell, or the cells of a digit in a unit."""
    cell, fewest = _most_constrained_cell(may, open_cells)
    candidates, digit = 0, 0
    if fewest > 2:
        for other, cells in enumerate(may):
            for unit in grid.units:
                count = (cells & unit).bit_count()
                if 1 < count < fewest:
                    fewest, candidates, digit = count, cells & unit, other
    if not candidates:
        bit = 1 << cell
        return [(digit, cell) for digit, cells in enumerate(may) if cells & bit]
    return [(digit, cell) for cell in range(candidates.bit_length()) if candidates >> cell & 1]


def _most_constrained_cell(may: list[int], open_cells: int) -> tuple[int, int]:
    """An open cell with the fewest digits left, and their number."""
    at_least = [open_cells] + [0] * (
        len(may) + 1
    )  # [n]: cells with at least n of the digits so far
    for cells in may:
        for count in range(len(may), 0, -1):
            at_least[count] |= at_least[count - 1] & cells
    for count in range(2, len(may) + 1):
        exactly = at_least[count] & ~at_least[count + 1]
        if exactly:
            return (exactly & -exactly).bit_length() - 1, count
    raise AssertionError("an open cell has two digits at least")


def _grid_text(may: list[int], grid: _Grid) -> str:
    cells = [""] * grid.every.bit_length()
    for digit, mine in enumerate(may, start=1):
        while mine:
            bit = mine & -mine
            cells[bit.bit_length() - 1] = str(digit)
            mine ^= bit
    return "".join(cells)


@cache
def _grid(size: int) -> _Grid:
    cells = range(size * size)
    of = units_of(size)
    units = tuple(sum(1 << cell for cell in cells if unit in of[cell]) for unit in range(3 * size))
    every = (1 << size * size) - 1
    others = tuple(every & ~(units[r] | units[c] | units[b]) for r, c, b in of)
    return _Grid(every, units, others)
