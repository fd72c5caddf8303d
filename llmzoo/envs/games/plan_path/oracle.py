"""Scripted walkers: an expert, and an amateur who errs as people do."""

from __future__ import annotations

import random

from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.plan_path.tasks import PathTask, Position

_ORDER = "UDLR"


def expert(task: PathTask, position: Position) -> str:
    """A shortest path: at each cell the first of U, D, L, R that shortens the distance to the goal."""
    moves = []
    row, column = position
    while (row, column) != task.goal:
        nearer = task.distance((row, column)) - 1
        for move in _ORDER:
            cell = row + DELTAS[move][0], column + DELTAS[move][1]
            if task.is_open(cell) and task.distance(cell) == nearer:
                moves.append(move)
                row, column = cell
                break
    return "".join(moves)


def amateur(task: PathTask, position: Position, rng: random.Random) -> str:
    """A sloppy plan, never empty: a right beginning and then straight to the goal through walls, only a
    right beginning, or a right plan with one move wrong or left out."""
    path = expert(task, position)
    slip = rng.choice(("straight", "short", "mistaken", "forgotten"))
    index = rng.randrange(len(path))
    if slip == "straight":
        row, column = position
        for move in path[:index]:
            row, column = row + DELTAS[move][0], column + DELTAS[move][1]
        down, right = task.goal[0] - row, task.goal[1] - column
        legs = ["D" * down + "U" * -down, "R" * right + "L" * -right]
        rng.shuffle(legs)
        return path[:index] + "".join(legs)
    if slip == "short":
        return path[: max(1, index)]
    if slip == "mistaken":
        return path[:index] + rng.choice(_ORDER.replace(path[index], "")) + path[index + 1 :]
    return path[:index] + path[index + 1 :] or path
