"""Reading answers to a sudoku, and judging grids. Pure functions; rows and columns count from 1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmzoo.envs.games.planning import Malformed

SIZES = (4, 9)
BLANK = "."

Fill = tuple[int, int, int]  # row, column, value

_LIST = re.compile(r"\[\s*[0-9]{1,2}(?:\s*,\s*[0-9]{1,2})*\s*\]")  # \d takes other scripts' digits
_NOISE = re.compile(r"[\s|,\[\]]+")
_FENCE = re.compile(r"```[a-zA-Z]*\n?")


def parse(text: str, size: int) -> tuple[Fill, ...]:
    """The fills of an answer: of its last full grid, or of its ``[row, column, value]`` lists.

    A grid is ``size`` lines of ``size`` digits (spaces, bars, commas and brackets between them are
    passed over; ``.``, ``0`` and ``_`` leave a cell as it is), lists of lists, or one run of
    size*size symbols. Raises :class:`Malformed`.
    """
    text = _FENCE.sub("\n", text)
    rows = _last_grid(text, size)
    if rows is not None:
        fills = tuple(
            (r, c, int(symbol))
            for r, row in enumerate(rows, start=1)
            for c, symbol in enumerate(row, start=1)
            if symbol != BLANK
        )
    else:
        found = [[int(n) for n in re.findall(r"\d+", item)] for item in _LIST.findall(text)]
        fills = tuple((item[0], item[1], item[2]) for item in found if len(item) == 3)
    if not fills:
        raise Malformed(f"no {size}x{size} grid and no list of [row, column, value] in it")
    seen: dict[tuple[int, int], int] = {}
    for row, column, value in fills:
        if not (1 <= row <= size and 1 <= column <= size and 1 <= value <= size):
            raise Malformed(f"[{row}, {column}, {value}] has a number outside 1 to {size}")
        if seen.setdefault((row, column), value) != value:
            raise Malformed(f"row {row} column {column} is given two values")
    return fills


def _last_grid(text: str, size: int) -> list[str] | None:
    symbols = set("123456789"[:size]) | {BLANK, "0", "_"}

    def row_of(line: str) -> str | None:
        if len(line) > 12 * size:
            return None
        bare = _NOISE.sub("", line)
        if len(bare) == size and set(bare) <= symbols:
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
    lists = [item for item in _LIST.findall(text) if item.count(",") == size - 1]
    if len(lists) >= size:
        return last_block(lists)
    run = re.findall(rf"(?<!\S)[0-9._]{{{size * size}}}(?!\S)", text)
    if run and set(run[-1]) <= symbols:
        bare = run[-1].replace("0", BLANK).replace("_", BLANK)
        return [bare[i : i + size] for i in range(0, size * size, size)]
    return None


def fill_in(grid: str, fills: Sequence[Fill]) -> str:
    """``grid`` with the fills written into it."""
    size = side_of(grid)
    cells = list(grid)
    for row, column, value in fills:
        cells[(row - 1) * size + column - 1] = str(value)
    return "".join(cells)


def broken_given(puzzle: str, fills: Sequence[Fill]) -> Fill | None:
    """The first fill that would change a given of the puzzle."""
    size = side_of(puzzle)
    for row, column, value in fills:
        given = puzzle[(row - 1) * size + column - 1]
        if given not in (BLANK, str(value)):
            return row, column, value
    return None


def clashes(grid: str) -> list[tuple[str, int]]:
    """The units that hold a digit twice: ``("row", 1)``, ``("column", 3)``, ``("box", 2)``."""
    size = side_of(grid)
    side = int(size**0.5)
    found = []
    for kind in ("row", "column", "box"):
        for number in range(size):
            digits = []
            for i in range(size):
                if kind == "row":
                    cell = number * size + i
                elif kind == "column":
                    cell = i * size + number
                else:
                    row, column = number // side * side + i // side, number % side * side + i % side
                    cell = row * size + column
                if grid[cell] != BLANK:
                    digits.append(grid[cell])
            if len(digits) > len(set(digits)):
                found.append((kind, number + 1))
    return found


def is_solved(puzzle: str, grid: str) -> bool:
    """Whether ``grid`` is complete, breaks no rule and keeps every given. Any valid one counts."""
    kept = all(given in (BLANK, digit) for given, digit in zip(puzzle, grid, strict=True))
    return kept and BLANK not in grid and not clashes(grid)


def progress(puzzle: str, solutions: Sequence[str], grid: str) -> float:
    """Right cells among those to be filled, by the nearest solution; 1 when solved, and only then."""
    if is_solved(puzzle, grid):
        return 1.0
    open_cells = [cell for cell, given in enumerate(puzzle) if given == BLANK]
    right = max(sum(s[cell] == grid[cell] for cell in open_cells) for s in solutions)
    return min(right, len(open_cells) - 1) / len(open_cells)


def rows(grid: str) -> str:
    """A grid as lines of digits."""
    size = side_of(grid)
    return "\n".join(grid[i : i + size] for i in range(0, len(grid), size))


def side_of(grid: str) -> int:
    return 4 if len(grid) == 16 else 9
