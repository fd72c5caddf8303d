"""Walking a plan through a grid, judging where it ends, and showing it. Pure functions.

No reward is computed here: :meth:`llmzoo.envs.games.planning_game.PlanningGame.apply` computes it from
:func:`progress`.
"""

from __future__ import annotations

from typing import NamedTuple

from llmzoo.envs.drawing import Board, BoardCell, parse_board
from llmzoo.envs.games.cells import JUMP
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.plan_path.tasks import MAX_SIDE, PathTask, Position

_WALKED = {**DELTAS, JUMP: (MAX_SIDE, MAX_SIDE)}  # a jump always leads off the grid


class Walk(NamedTuple):
    """The end of a plan. ``blocked``: the number, from 1, of the first impossible move."""

    end: Position
    blocked: int | None = None


def walk(task: PathTask, position: Position, moves: str) -> Walk:
    """Make the moves one by one, up to the goal or the first that hits a wall or leaves the grid."""
    for number, move in enumerate(moves, start=1):
        if position == task.goal:
            break
        cell = position[0] + _WALKED[move][0], position[1] + _WALKED[move][1]
        if not task.is_open(cell):
            return Walk(position, number)
        position = cell
    return Walk(position)


def progress(task: PathTask, position: Position) -> float:
    """The share of the distance from the start that is done: 1 at the goal only."""
    whole = task.distance(task.start)
    return max(0.0, (whole - task.distance(position)) / whole)


def draw_grid(task: PathTask, position: Position) -> str:
    """The grid with ``@`` at ``position``; the start is floor like any other."""
    grid = task.grid.replace("S", ".")
    index = position[0] * (len(task.rows[0]) + 1) + position[1]
    return f"{grid[:index]}@{grid[index + 1 :]}"


CELLS = {
    "#": BoardCell("#", "wall"),
    ".": BoardCell(".", "floor"),
    "G": BoardCell("G", "goal"),
    "@": BoardCell("@", "player"),
}


def grid_board(task: PathTask, position: Position) -> Board:
    """The grid as a board."""
    cells = CELLS | {"@": BoardCell("@", "player_on_goal")} if position == task.goal else CELLS
    return parse_board(draw_grid(task, position), cells)
