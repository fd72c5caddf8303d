"""Scripted sudoku players: an expert, and an amateur who errs as people do."""

from __future__ import annotations

import random

from llmzoo.envs.games.sudoku.scoring import BLANK, rows
from llmzoo.envs.games.sudoku.tasks import SudokuTask


def expert(task: SudokuTask) -> str:
    """The solution."""
    return rows(task.solutions[0])


def amateur(task: SudokuTask, rng: random.Random) -> str:
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
    return rows("".join(cells))
