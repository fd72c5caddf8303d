"""Walking a plan through a grid, and judging where it ends. Pure functions."""

from __future__ import annotations

from typing import NamedTuple

from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.plan_path.tasks import PathTask, Position


class Walk(NamedTuple):
    """Where a plan ends. ``blocked``: the number, from 1, of the first move that was not possible."""

    end: Position
    blocked: int | None = None


def walk(task: PathTask, position: Position, moves: str) -> Walk:
    """Makes the moves one by one, up to the goal or the first that hits a wall or leaves the grid."""
    for number, move in enumerate(moves, start=1):
        if position == task.goal:
            break
        cell = position[0] + DELTAS[move][0], position[1] + DELTAS[move][1]
        if not task.is_open(cell):
            return Walk(position, number)
        position = cell
    return Walk(position)


def progress(task: PathTask, position: Position) -> float:
    """The share of the way from the start that is done, by true distance: 1 at the goal only."""
    whole = task.distance(task.start)
    return max(0.0, (whole - task.distance(position)) / whole)


def draw(task: PathTask, position: Position) -> str:
    """The grid with ``@`` at ``position``; the start is floor like any other."""
    grid = task.grid.replace("S", ".")
    place = position[0] * (len(task.rows[0]) + 1) + position[1]
    return f"{grid[:place]}@{grid[place + 1 :]}"
