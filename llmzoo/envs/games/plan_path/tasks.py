"""Grids with walls, a start and a goal: generated, or read from a file.

A grid is lines of the same length: ``#`` wall, ``.`` floor, ``S`` start, ``G`` goal. Nothing lies
outside it. A position is ``(row, column)``, counted from 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from operator import itemgetter

from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.sources import BadField, LoadedTasks, Record, get_field, load_file
from llmzoo.errors import ConfigError

WALL, FLOOR, START, GOAL = "#.SG"
MAX_SIDE = 30  # cells; a shortest path then has at most 899 moves, and an answer may hold 1000
UNREACHABLE = -1
_EXCHANGED = str.maketrans(START + GOAL, GOAL + START)

_MAX_TRIES = 10_000  # grids in a row without a start and goal far enough apart

Position = tuple[int, int]


@dataclass(frozen=True)
class PathTask:
    """One grid. Derived values are computed on first use and kept."""

    grid: str

    @cached_property
    def rows(self) -> tuple[str, ...]:
        return tuple(self.grid.split("\n"))

    @cached_property
    def start(self) -> Position:
        return self._find(START)

    @cached_property
    def goal(self) -> Position:
        return self._find(GOAL)

    @cached_property
    def distances(self) -> tuple[tuple[int, ...], ...]:
        """Moves from each cell to the goal; -1 for walls and cells without a way to it."""
        table = [[UNREACHABLE] * len(row) for row in self.rows]
        table[self.goal[0]][self.goal[1]] = 0
        frontier = [self.goal]
        for row, column in frontier:  # grows during the loop: breadth first
            for down, right in DELTAS.values():
                cell = row + down, column + right
                if self.is_open(cell) and table[cell[0]][cell[1]] == UNREACHABLE:
                    table[cell[0]][cell[1]] = table[row][column] + 1
                    frontier.append(cell)
        return tuple(map(tuple, table))

    def is_open(self, cell: Position) -> bool:
        """Whether ``cell`` lies inside the grid and is not a wall."""
        row, column = cell
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        return inside and self.rows[row][column] != WALL

    def distance(self, cell: Position) -> int:
        """Moves from an open cell to the goal."""
        return self.distances[cell[0]][cell[1]]

    def _find(self, symbol: str) -> Position:
        return divmod(self.grid.index(symbol), len(self.rows[0]) + 1)


def check_arguments(height: int, width: int, density: float, min_distance: int) -> None:
    """Raises ``ConfigError`` for a grid that cannot be drawn."""
    for name, side in (("height", height), ("width", width)):
        if not 2 <= side <= MAX_SIDE:
            raise ConfigError(f"{name} must be from 2 to {MAX_SIDE}, got {side}")
    if not 0.0 <= density < 1.0:
        raise ConfigError(f"density must be from 0 to less than 1, got {density}")
    if not 1 <= min_distance < height * width:
        raise ConfigError(
            f"min_distance must be from 1 to {height * width - 1} on a {height}x{width} grid, "
            f"got {min_distance}"
        )


def sample_task(
    rng: random.Random, height: int, width: int, density: float, min_distance: int
) -> PathTask:
    """A random grid: each cell is a wall with probability ``density``, the start is a floor cell, and the
    goal is at least ``min_distance`` moves away.

    The floor is one integer, a bit a cell, in the order of the text: the bit of a line's end is
    never set, so shifting by 1 and by ``width + 1`` moves a whole front of cells without wrapping.
    """
    stride = width + 1
    chance = rng.random
    for _ in range(_MAX_TRIES):
        cells = [FLOOR if chance() >= density else WALL for _ in range(stride * height - 1)]
        cells[width::stride] = "\n" * (height - 1)
        floor = [i for i, symbol in enumerate(cells) if symbol == FLOOR]
        if not floor:
            continue
        start = rng.choice(floor)
        fresh = sum(1 << i for i in floor) & ~(1 << start)
        front = 1 << start
        far = 0  # cells at least min_distance away
        distance = 0
        while front:
            front = (front << 1 | front >> 1 | front << stride | front >> stride) & fresh
            fresh &= ~front
            distance += 1
            if distance >= min_distance:
                far |= front
        if far:
            goal = rng.choice([i for i in floor if far >> i & 1])
            cells[start], cells[goal] = START, GOAL
            return PathTask("".join(cells))
    raise ConfigError(
        f"no {height}x{width} grid with density {density} and min_distance {min_distance} "
        f"in {_MAX_TRIES} draws; lower one of them"
    )


def load_tasks(path: str, on_bad_record: str = "error") -> LoadedTasks[PathTask]:
    """Grids from a file of records with the field ``grid``."""
    return load_file(path, task_from_record, on_bad_record)


def task_from_record(record: Record) -> PathTask:
    """The grid of a record, lines of symbols; raises ``BadField``."""
    grid = get_field(record, "grid", str).strip("\n")
    rows = grid.split("\n")
    height, width = len(rows), len(rows[0])
    fits = min(height, width) >= 2 and max(height, width) <= MAX_SIDE
    if not fits or any(len(row) != width for row in rows):
        raise BadField("grid", f"is not a grid of 2x2 to {MAX_SIDE}x{MAX_SIDE} cells")
    if not set(grid) <= {*"#.SG\n"} or grid.count(START) != 1 or grid.count(GOAL) != 1:
        raise BadField("grid", "does not hold '#', '.', one S and one G, and nothing else")
    task = PathTask(grid)
    if task.distance(task.start) == UNREACHABLE:
        raise BadField("grid", "has a goal that cannot be reached")
    return task


def canonical(task: PathTask) -> str:
    """The smallest text of the grid's eight mirror images and turns, with start and goal as they are and
    exchanged: a path in reverse leads from the goal to the start."""
    height, width = len(task.rows), len(task.rows[0])
    backwards = task.grid.translate(_EXCHANGED)
    return min(
        "".join(pick(grid))
        for grid in (task.grid, backwards)
        for pick in _symmetries(height, width)
    )


@cache
def _symmetries(height: int, width: int) -> tuple[Callable[[str], tuple[str, ...]], ...]:
    """For each image, a function that picks its symbols, line ends included, from a grid's text."""
    rows = [[row * (width + 1) + column for column in range(width)] for row in range(height)]
    pickers: list[Callable[[str], tuple[str, ...]]] = []
    for _ in range(4):
        rows = [list(row) for row in zip(*rows[::-1], strict=True)]  # a quarter turn
        for image in (rows, [row[::-1] for row in rows]):
            symbols = [index for row in image for index in [*row, width]]  # ends with a line end
            pickers.append(itemgetter(*symbols[:-1]))
    return tuple(pickers)
