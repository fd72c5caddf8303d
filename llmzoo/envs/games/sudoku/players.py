"""Scripted sudoku players: an expert, and a noisy expert who errs as people do."""

from __future__ import annotations

import random

from llmzoo.envs.games import split_view
from llmzoo.envs.games.sudoku.scoring import BLANK, format_rows, grid_side
from llmzoo.envs.games.sudoku.solving import find_solutions
from llmzoo.envs.games.sudoku.tasks import SudokuTask


def expert(task: SudokuTask) -> str:
    """The solution."""
    return format_rows(task.solutions[0])


def noisy_expert(task: SudokuTask, rng: random.Random) -> str:
    """The solution with one to four slips: two cells of a row exchanged, or a digit mistaken."""
    size = task.size
    cells = list(task.solutions[0])
    open_cells = [cell for cell, given in enumerate(task.puzzle) if given == BLANK]
    for _ in range(rng.randint(1, 4)):
        cell = rng.choice(open_cells)
        row = [other for other in open_cells if other // size == cell // size and other != cell]
        if row and rng.random() < 0.5:
            other = rng.choice(row)
            cells[cell], cells[other] = cells[other], cells[cell]
        else:
            cells[cell] = str(rng.randint(1, size))
    return format_rows("".join(cells))


def fill_from_half(own: str, message: str, turn: int) -> str:
    """A grid that agrees with the planner's half of the givens and, if that is possible, with a message.

    A message tells givens if it holds a grid. If several grids agree, each turn tries another one: that is
    the best guess of a planner who hears nothing.
    """
    merged = _merge_givens(own, message)
    found = find_solutions(merged, limit=turn + 1) or find_solutions(own, limit=turn + 1)
    return found[min(turn, len(found) - 1)]


def _merge_givens(own: str, message: str) -> str:
    """The planner's givens, with those that a message tells of the other cells."""
    size = grid_side(own)
    received_givens = split_view.parse_rows(
        message, size, size, "123456789"[:size] + BLANK + split_view.UNSEEN
    )
    if received_givens is None:
        return own
    planners = split_view.lower_half(size)
    return "".join(
        mine if planners(*divmod(cell, size)) or theirs == split_view.UNSEEN else theirs
        for cell, (mine, theirs) in enumerate(zip(own, "".join(received_givens), strict=True))
    )
