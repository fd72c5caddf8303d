"""Reading answers to a sudoku, and judging grids. Pure functions; rows and columns count from 1.

No reward is computed here: :meth:`llmzoo.envs.games.planning_game.PlanningGame.apply` computes it from
:func:`progress`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import itemgetter

from llmzoo.envs.text import MalformedError

SIZES = (4, 9)
BLANK = "."
_ZERO = ord("0")

Fill = tuple[int, int, int]  # row, column, value

_LIST = re.compile(r"\[\s*[0-9]{1,2}(?:\s*,\s*[0-9]{1,2})*\s*\]")  # \d takes other scripts' digits
_FILL = re.compile(r"\[\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\]")
_NOISE = re.compile(r"[\s|,\[\]]+")
_FENCE = re.compile(r"```[a-zA-Z]*\n?")

_ONES = int("1" * 81, 16)  # the lowest bit of every cell; see _number
_LINES = {
    size: itemgetter(*(slice(i, i + size) for i in range(0, size * size, size))) for size in SIZES
}


def parse_fills(text: str, size: int) -> tuple[Fill, ...]:
    """The fills of an answer: of its last full grid, or of its ``[row, column, value]`` lists.

    A grid is ``size`` lines of ``size`` digits, lists of lists, or one run of size*size symbols. Spaces,
    bars, commas and brackets between digits are skipped; ``.``, ``0`` and ``_`` leave a cell as it is.
    Raises :class:`MalformedError`.
    """
    if "```" in text:
        text = _FENCE.sub("\n", text)
    rows = _find_last_grid(text, size)
    if rows is None:
        fills = _parse_fill_lists(text, size)
    else:
        fills = tuple(
            [
                (r, c, int(symbol))
                for r, row in enumerate(rows, start=1)
                for c, symbol in enumerate(row, start=1)
                if symbol != BLANK
            ]
        )
    if not fills:
        raise MalformedError(f"no {size}x{size} grid and no list of [row, column, value] in it")
    return fills


def _parse_fill_lists(text: str, size: int) -> tuple[Fill, ...]:
    """The fills of ``[row, column, value]`` lists; other lists are skipped."""
    fills = []
    seen: dict[tuple[int, int], int] = {}
    for numbers in _FILL.findall(text):
        row, column, value = map(int, numbers)
        if not (1 <= row <= size and 1 <= column <= size and 1 <= value <= size):
            raise MalformedError(f"[{row}, {column}, {value}] has a number outside 1 to {size}")
        if seen.setdefault((row, column), value) != value:
            raise MalformedError(f"row {row} column {column} is given two values")
        fills.append((row, column, value))
    return tuple(fills)


@cache
def _symbols(size: int) -> tuple[frozenset[str], re.Pattern[str]]:
    """The symbols of a grid, and a pattern of a whole grid in one run."""
    symbols = frozenset("123456789"[:size] + BLANK + "0_")
    return symbols, re.compile(rf"(?<!\S)[0-9._]{{{size * size}}}(?!\S)")


def _find_last_grid(text: str, size: int) -> list[str] | None:
    if len(text) < size * size:
        return None
    symbols, in_one_run = _symbols(size)

    def row_of(line: str) -> str | None:
        if len(line) > 12 * size:
            return None
        bare = _NOISE.sub("", line)
        if len(bare) == size and symbols.issuperset(bare):
            return bare.replace("0", BLANK).replace("_", BLANK)
        return None

    def last_block(lines: Sequence[str]) -> list[str] | None:
        block: list[str] = []
        best: list[str] | None = None
        for line in lines:
            row = row_of(line)
            if row is not None:
                block.append(row)
                if len(block) >= size:
                    best = block[-size:]
            elif line.strip(" -+|=\t\r") != "":  # a rule between boxes does not end a block
                block = []
        return best

    blocks = last_block(text.splitlines())
    if blocks is not None:
        return blocks
    of_rows = [item for item in _LIST.findall(text) if item.count(",") == size - 1]
    if len(of_rows) >= size:
        return last_block(of_rows)
    run = in_one_run.findall(text)
    if run and symbols.issuperset(run[-1]):
        bare = run[-1].replace("0", BLANK).replace("_", BLANK)
        return [bare[i : i + size] for i in range(0, size * size, size)]
    return None


def fill_in(grid: str, fills: Sequence[Fill]) -> str:
    """``grid`` with the fills written into it."""
    size = grid_side(grid)
    cells = bytearray(grid, "ascii")
    for row, column, value in fills:
        cells[(row - 1) * size + column - 1] = _ZERO + value
    return cells.decode()


def find_broken_given(puzzle: str, fills: Sequence[Fill]) -> Fill | None:
    """The first fill that would change a given of the puzzle."""
    size = grid_side(puzzle)
    for row, column, value in fills:
        given = puzzle[(row - 1) * size + column - 1]
        if given not in (BLANK, str(value)):
            return row, column, value
    return None


def find_clashes(grid: str) -> list[tuple[str, int]]:
    """The units with a digit twice: ``("row", 1)``, ``("column", 3)``, ``("box", 2)``."""
    units = []
    for unit, cells_of in _unit_getters(grid_side(grid)):
        cells = cells_of(grid)
        different = len(set(cells))
        if different < len(cells) and different + max(0, cells.count(BLANK) - 1) < len(cells):
            units.append(unit)
    return units


@cache
def units_of(size: int) -> tuple[tuple[int, int, int], ...]:
    """The row, the column and the box of each cell. Units are numbered: rows, then columns, then boxes."""
    side = int(size**0.5)
    return tuple(
        (row, size + column, 2 * size + row // side * side + column // side)
        for row in range(size)
        for column in range(size)
    )


@cache
def _unit_getters(
    size: int,
) -> tuple[tuple[tuple[str, int], Callable[[str], tuple[str, ...]]], ...]:
    """Each unit: its name, and a function that takes its cells from a grid."""
    units = units_of(size)
    return tuple(
        (
            (("row", "column", "box")[unit // size], unit % size + 1),
            itemgetter(*(cell for cell in range(size * size) if unit in units[cell])),
        )
        for unit in range(3 * size)
    )


def is_solved(puzzle: str, grid: str) -> bool:
    """Whether ``grid`` is complete, breaks no rule and keeps every given. Any valid grid counts."""
    if BLANK in grid or find_clashes(grid):
        return False
    return all(given in (BLANK, digit) for given, digit in zip(puzzle, grid, strict=True))


def count_right_cells(solutions: Sequence[str], grid: str) -> int:
    """The number of cells, givens included, in which ``grid`` agrees with the nearest solution."""
    filled = _number(grid)
    return len(grid) - min(
        [_count_unequal(filled ^ solution) for solution in _numbers(tuple(solutions))]
    )


@lru_cache(maxsize=1024)
def _numbers(grids: tuple[str, ...]) -> list[int]:
    return list(map(_number, grids))


def _number(grid: str) -> int:
    """A grid as a number with four bits a cell, 0 for a blank, to compare all cells at once."""
    return int(grid.replace(BLANK, "0"), 16)


def _count_unequal(difference: int) -> int:
    """The number of cells with some bit set."""
    difference |= difference >> 2
    return ((difference | difference >> 1) & _ONES).bit_count()


def progress(puzzle: str, grid: str, right: int, shown: str) -> float:
    """The share of the open cells that are right; 1 only when solved.

    ``right``: the :func:`count_right_cells` of ``grid``. ``shown``: the puzzle with only those givens that stand
    in the grid from the start. A changed given counts as one right cell less.
    """
    if right == len(grid) or is_solved(puzzle, grid):
        return 1.0
    to_fill = shown.count(BLANK)
    right_fills = right - (len(puzzle) - to_fill)
    return max(0, min(right_fills, to_fill - 1)) / to_fill


def format_rows(grid: str) -> str:
    """A grid as lines of digits."""
    return "\n".join(_LINES[grid_side(grid)](grid))


def grid_side(grid: str) -> int:
    return 4 if len(grid) == 16 else 9
