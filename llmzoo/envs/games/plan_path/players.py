"""Scripted walkers: an expert, and a noisy expert who errs as people do."""

from __future__ import annotations

import random
from collections.abc import Sequence

from llmzoo.envs.games import split_view
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.plan_path.tasks import (
    FLOOR,
    GOAL,
    START,
    UNREACHABLE,
    WALL,
    PathTask,
    Position,
)

_ORDER = "UDLR"
_BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}
_MOST = 1000  # moves of an answer


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


def random_shortest_path(task: PathTask, position: Position, rng: random.Random) -> str:
    """A shortest path: at each cell one drawn from the moves that shorten the distance to the goal."""
    moves = ""
    row, column = position
    while (row, column) != task.goal:
        nearer = task.distance((row, column)) - 1
        move, row, column = rng.choice(
            [
                (move, row + down, column + right)
                for move, (down, right) in DELTAS.items()
                if task.is_open((row + down, column + right))
                and task.distance((row + down, column + right)) == nearer
            ]
        )
        moves += move
    return moves


def noisy_expert(task: PathTask, position: Position, rng: random.Random) -> str:
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


def plan_from_half(seen: Sequence[str], position: Position, message: str, turn: int) -> str:
    """The walker's plan in the split view: a shortest path on the grid that
    :func:`reconstruct_task` gives, or else that of :func:`sweep_unseen`."""
    task = reconstruct_task(seen, position, message)
    return sweep_unseen(seen, position, turn) if task is None else expert(task, position)


def reconstruct_task(seen: Sequence[str], position: Position, message: str) -> PathTask | None:
    """The grid that the walker's half and a message give; None if they name no goal that can be reached.

    A message tells the other half if it holds a map. An unseen cell counts as floor.
    """
    other_rows = split_view.parse_rows(
        message, len(seen), len(seen[0]), WALL + FLOOR + GOAL + split_view.UNSEEN
    )
    if other_rows is None or sum(row.count(GOAL) for row in other_rows) != 1:
        return None
    rows = [
        "".join(
            theirs if theirs == GOAL or not split_view.is_planner_checkerboard_cell(r, c) else mine
            for c, (mine, theirs) in enumerate(zip(*pair, strict=True))
        ).replace(split_view.UNSEEN, FLOOR)
        for r, pair in enumerate(zip(seen, other_rows, strict=True))
    ]
    row, column = position
    if rows[row][column] == GOAL:
        return None
    rows[row] = f"{rows[row][:column]}{START}{rows[row][column + 1 :]}"
    task = PathTask("\n".join(rows))
    return None if task.distance(position) == UNREACHABLE else task


def sweep_unseen(seen: Sequence[str], position: Position, turn: int) -> str:
    """A walk over all cells that may be floor, depth first, for a walker that knows no goal.

    Each turn tries the directions in another order, so that a wall met once does not stop every walk.
    """
    order = _ORDER[turn % 4 :] + _ORDER[: turn % 4]
    height, width = len(seen), len(seen[0])
    visited = {position}
    moves: list[str] = []
    stack: list[tuple[Position, list[str]]] = [(position, list(order))]
    way: list[str] = []
    while stack and len(moves) < _MOST:
        (row, column), left = stack[-1]
        if not left:
            stack.pop()
            if way:
                moves.append(_BACK[way.pop()])
            continue
        move = left.pop(0)
        cell = row + DELTAS[move][0], column + DELTAS[move][1]
        inside = 0 <= cell[0] < height and 0 <= cell[1] < width
        if inside and cell not in visited and seen[cell[0]][cell[1]] != WALL:
            visited.add(cell)
            moves.append(move)
            way.append(move)
            stack.append((cell, list(order)))
    return "".join(moves) or order[0]
