"""Sudoku puzzles: generated with exactly one solution, or read from a file.

A grid is a string of size*size characters, row by row, with ``.`` for a blank cell.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from llmzoo.envs import record_files, sources
from llmzoo.envs.games.sudoku.scoring import BLANK, SIZES, is_solved, units_of
from llmzoo.envs.games.sudoku.solving import find_solutions
from llmzoo.envs.games.sudoku.symmetry import canonical_key
from llmzoo.envs.record_files import BadRecord, NamedRecord
from llmzoo.envs.sources import LoadedTasks, Record, load_file
from llmzoo.errors import ConfigError

MAX_SOLUTIONS = 288  # the number of completed 4x4 grids, and the most solutions that are listed

# (fewest, most) clues by size and difficulty; None is the default mix
CLUES = {
    4: {None: (6, 10), "easy": (9, 11), "medium": (7, 8), "hard": (5, 6)},
    9: {None: (36, 50), "easy": (44, 50), "medium": (34, 40), "hard": (27, 31)},
}


@dataclass(frozen=True, slots=True)
class SudokuTask:
    """A puzzle and its solutions: one if generated, up to 288 if read from a file."""

    puzzle: str
    solutions: tuple[str, ...] = field(compare=False)

    @property
    def size(self) -> int:
        return 4 if len(self.puzzle) == 16 else 9


def clue_range(size: int, clues: int | None, difficulty: str | None) -> tuple[int, int]:
    """The smallest and largest number of givens; checks the arguments."""
    if size not in SIZES:
        raise ConfigError(f"size must be 4 or 9, got {size!r}")
    if clues is not None and difficulty is not None:
        raise ConfigError("give clues or difficulty, not both")
    if clues is not None:
        least = 4 if size == 4 else 24
        if not least <= clues < size * size:
            raise ConfigError(f"clues must be from {least} to {size * size - 1}, got {clues}")
        return clues, clues
    if difficulty not in CLUES[size]:
        raise ConfigError(f"difficulty must be easy, medium or hard, got {difficulty!r}")
    return CLUES[size][difficulty]


def sample_task(rng: random.Random, size: int, clues: tuple[int, int]) -> SudokuTask:
    """A puzzle with exactly one solution: cells are blanked in random order while it stays unique."""
    wanted = rng.randint(*clues)
    while True:
        solution = _random_grid(rng, size)
        cells = list(solution)
        kept = size * size
        for cell in rng.sample(range(size * size), size * size):
            if kept == wanted:
                puzzle = "".join(cells)
                return SudokuTask(puzzle, (solution,))
            digit, cells[cell] = cells[cell], BLANK
            if _is_unique("".join(cells)):
                kept -= 1
            else:
                cells[cell] = digit


def load_tasks(path: str, on_bad_record: str = "error") -> LoadedTasks[SudokuTask]:
    """Puzzles from a file of records with the field ``puzzle``, or from plain lines; 0 or . is a
    blank."""
    return load_file(path, task_from_record, on_bad_record, records_of=_records)


def task_from_record(record: Record) -> SudokuTask:
    """The puzzle of a record; raises ``BadRecord``."""
    puzzle = sources.get_field(record, "puzzle", str).strip().replace("0", BLANK)
    size = {16: 4, 81: 9}.get(len(puzzle))
    if size is None or not set(puzzle) <= {BLANK, *"123456789"[:size]}:
        raise BadRecord(f"not a 4x4 or 9x9 puzzle: {puzzle[:90]!r}")
    solved = find_solutions(puzzle, limit=MAX_SOLUTIONS)
    if not solved:
        raise BadRecord(f"this puzzle has no solution: {puzzle}")
    return SudokuTask(puzzle, tuple(solved))


def _records(path: str) -> Iterator[NamedRecord]:
    if record_files.is_record_file(path):
        yield from record_files.read_records(path)
        return
    for where, line in record_files.nonblank_lines(path):
        if isinstance(line, BadRecord):
            yield where, line
        elif line.lstrip().startswith("{"):
            yield where, record_files.parse_json(line)
        else:
            yield where, {"puzzle": line.strip()}


def canonical(task: SudokuTask) -> str:
    """A text that all puzzles share which a symmetry of sudoku maps onto one another."""
    return canonical_key(task.puzzle)


def solve(puzzle: str, limit: int, rng: random.Random | None = None) -> list[str]:
    """Up to ``limit`` solutions, by backtracking on the cell with the fewest candidates."""
    size = 4 if len(puzzle) == 16 else 9
    units = units_of(size)
    used = [0] * (3 * size)  # a bit per digit for each row, column and box
    cells = list(puzzle)
    blanks = []
    for cell, digit in enumerate(cells):
        if digit == BLANK:
            blanks.append(cell)
            continue
        bit = 1 << int(digit)
        for unit in units[cell]:
            if used[unit] & bit:
                return []
            used[unit] |= bit
    every = (1 << (size + 1)) - 2
    solutions: list[str] = []

    def search() -> None:
        if not blanks:
            solutions.append("".join(cells))
            return
        best, fewest, options = 0, size + 1, 0
        for index, cell in enumerate(blanks):
            row, column, box = units[cell]
            free = every & ~(used[row] | used[column] | used[box])
            count = free.bit_count()
            if count < fewest:
                best, fewest, options = index, count, free
                if count <= 1:
                    break
        cell = blanks.pop(best)
        digits = [d for d in range(1, size + 1) if options >> d & 1]
        if rng is not None:
            rng.shuffle(digits)
        for digit in digits:
            bit = 1 << digit
            for unit in units[cell]:
                used[unit] |= bit
            cells[cell] = str(digit)
            search()
            for unit in units[cell]:
                used[unit] &= ~bit
            if len(solutions) >= limit:
                break
        cells[cell] = BLANK
        blanks.insert(best, cell)

    search()
    return solutions


def _random_grid(rng: random.Random, size: int) -> str:
    if size == 4:
        return rng.choice(_all_4x4_grids())
    return solve(BLANK * 81, limit=1, rng=rng)[0]


def _is_unique(puzzle: str) -> bool:
    if len(puzzle) == 16:
        return _grids_matching(puzzle).bit_count() == 1
    return len(find_solutions(puzzle, limit=2)) == 1


@cache
def _all_4x4_grids() -> tuple[str, ...]:
    grids = tuple(solve(BLANK * 16, limit=1000))
    assert len(grids) == MAX_SOLUTIONS
    assert all(is_solved(BLANK * 16, grid) for grid in grids)
    return grids


@cache
def _masks_by_digit() -> dict[tuple[int, str], int]:
    """For each cell and digit a bit mask of the 288 grids that have it."""
    masks: dict[tuple[int, str], int] = {}
    for number, grid in enumerate(_all_4x4_grids()):
        for cell, digit in enumerate(grid):
            masks[cell, digit] = masks.get((cell, digit), 0) | 1 << number
    return masks


def _grids_matching(puzzle: str) -> int:
    masks = _masks_by_digit()
    matching = (1 << MAX_SOLUTIONS) - 1
    for cell, digit in enumerate(puzzle):
        if digit != BLANK:
            matching &= masks[cell, digit]
    return matching
