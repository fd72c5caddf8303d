"""Walking a plan through a grid, judging where it ends, and showing it. Pure functions.

No reward is computed here: :meth:`llmzoo.envs.games.planning_game.PlanningGame.apply` computes it from
:func:`progress`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.games.board_views import MovesView
from llmzoo.envs.games.cells import JUMP
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.plan_path.tasks import MAX_SIDE, PathTask, Position

_WALKED = {**DELTAS, JUMP: (MAX_SIDE, MAX_SIDE)}  # a jump always leads off the grid
_ARRIVED, _START = BoardCell("@", "player_on_goal"), BoardCell("S", "start")
_STEPS = {move: BoardCell(sign, "path") for move, sign in zip("UDLR", "^v<>", strict=True)}


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


class PathView(MovesView):
    """A grid as the game draws it. If it shows no goal, the walker is on it."""

    cells = {
        "#": BoardCell("#", "wall"),
        ".": BoardCell(".", "floor"),
        "G": BoardCell("G", "goal"),
        "@": BoardCell("@", "player"),
    }
    players = "@"

    def state(self, text: str, start: int) -> tuple[Sequence[str], int] | None:
        read = super().state(text, start)
        return read if read and sum(row.count("G") for row in read[0]) <= 1 else None

    def board(self, state: Sequence[str]) -> Board:
        cells = [list(map(self.cells.__getitem__, row)) for row in state]
        if not any("G" in row for row in state):
            row, column = _find_walker(state)
            cells[row][column] = _ARRIVED
        return Board(tuple(map(tuple, cells)))

    def after(self, rows: Sequence[str], moves: str) -> Board:
        """The grid after a walk, and the way taken."""
        cells = [list(row) for row in self.board(rows).rows]
        row, column = begun = _find_walker(rows)
        for move in moves:
            down, right = row + DELTAS[move][0], column + DELTAS[move][1]
            inside = 0 <= down < len(rows) and 0 <= right < len(rows[0])
            if not inside or rows[down][right] == "#" or cells[row][column] is _ARRIVED:
                break
            cells[row][column] = _START if (row, column) == begun else _STEPS[move]
            row, column = down, right
            if rows[row][column] == "G":
                cells[row][column] = _ARRIVED
        if cells[row][column] is not _ARRIVED:
            cells[row][column] = self.cells["@"]
        return Board(tuple(map(tuple, cells)))


def _find_walker(rows: Sequence[str]) -> tuple[int, int]:
    return next((number, row.index("@")) for number, row in enumerate(rows) if "@" in row)
