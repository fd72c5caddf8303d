"""Carrying out moves in sokoban, and judging positions. Pure functions; rows and columns count from 1.

No reward is computed here: :meth:`llmzoo.envs.games.planning_game.PlanningGame.apply` computes it from
:func:`progress`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from llmzoo.envs.games.cells import cell_name, describe_blocked_move
from llmzoo.envs.games.sokoban.levels import NEVER, LevelTables, build_tables, cells_in_mask

MAX_MOVES = 1000
EXACT = 8  # boxes up to which the assignment to goals is exact; beyond, it is greedy


class Position(NamedTuple):
    """A level (its XSB text), the player's cell, and the mask of the boxes' cells."""

    level: str
    player: int
    boxes: int


class SokobanStanding(NamedTuple):
    """The value and the text of the boxes in a level, wherever the player is.

    lost: the mask of the boxes that can never reach a goal.
    hopeless: some box is lost, or the boxes cannot all have a goal of their own.
    drawn: the level as text, without the player.
    """

    boxes: tuple[int, ...]
    placed: int  # boxes on goals
    lost: int
    hopeless: bool
    progress: float
    drawn: str


class MovesResult(NamedTuple):
    """``made`` moves were carried out. ``blocked``: the next move, which was impossible, or None."""

    world: Position
    made: int
    blocked: str | None


def start_position(level: str) -> Position:
    tables = build_tables(level)
    return Position(level, tables.player, tables.boxes)


def run_moves(world: Position, moves: str) -> MovesResult:
    """Carry out ``moves`` up to the first that is impossible, or until the level is solved."""
    tables = build_tables(world.level)
    player, boxes, floor, steps = world.player, world.boxes, tables.floor, tables.steps
    outside = tables.height * tables.width  # what a jump adds: no cell of the level
    for made, move in enumerate(moves):
        if boxes == tables.goals:
            return MovesResult(Position(world.level, player, boxes), made, None)
        step = steps.get(move, outside)
        to = 1 << player + step
        if boxes & to:
            beyond = 1 << player + 2 * step
            if not beyond & floor & ~boxes:
                return MovesResult(Position(world.level, player, boxes), made, move)
            boxes ^= to | beyond
        elif not floor & to:
            return MovesResult(Position(world.level, player, boxes), made, move)
        player += step
    return MovesResult(Position(world.level, player, boxes), len(moves), None)


def is_solved(world: Position) -> bool:
    return world.boxes == build_tables(world.level).goals


@lru_cache(
    maxsize=16384
)  # most moves push nothing, and the planner often repeats the simulated plan
def measure_standing(level: str, boxes: int) -> SokobanStanding:
    tables = build_tables(level)
    cells = tuple(cells_in_mask(boxes))
    placed = (boxes & tables.goals).bit_count()
    lost = find_lost_boxes(level, boxes)
    left = NEVER if lost else min_pushes_left(level, boxes)
    drawn = list(tables.text)
    for cell in cells:
        index = cell + cell // tables.width  # every line but the last ends in a newline
        drawn[index] = "$*"[drawn[index] == "."]
    worth = _progress(tables, level, boxes, placed, left)
    return SokobanStanding(cells, placed, lost, left >= NEVER, worth, "".join(drawn))


def find_lost_boxes(level: str, boxes: int) -> int:
    """The mask of boxes off goal that can never reach one.

    They are on a dead cell, or frozen: along both axes a wall, another frozen box, or dead cells on
    both sides stop them, in whatever order the boxes are moved. A solvable position has no lost box; an
    unsolvable one may have none either.
    """
    tables = build_tables(level)
    width, walls = tables.width, ~tables.floor
    frozen, before = boxes, 0
    while frozen != before:
        before = frozen
        fixed = walls | frozen
        frozen &= fixed << 1 | fixed >> 1 | tables.dead_across
        frozen &= fixed << width | fixed >> width | tables.dead_along
    return (boxes & tables.dead) | (frozen & ~tables.goals)


@lru_cache(maxsize=16384)
def min_pushes_left(level: str, boxes: int) -> int:
    """The cost of the cheapest assignment of boxes to goals, in pushes of single boxes on the empty board.

    For up to 8 boxes this is a lower bound of the pushes to a solution, and ``NEVER`` or more if there
    is no assignment. For more boxes the nearest pairs are assigned first, which is no bound.
    """
    tables = build_tables(level)
    costs = [tables.to_goals[cell] for cell in cells_in_mask(boxes)]
    if len(costs) > EXACT:
        return _greedy_cost(costs, tables)
    best = [0]  # for each mask of goals: the pushes when the first boxes, as many, take them
    for box, choices in _goal_assignments(len(costs)):
        row = costs[box]
        best.append(min([row[goal] + best[others] for goal, others in choices]))
    return min(best[-1], NEVER)


@cache
def _goal_assignments(goals: int) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
    """For each mask of goals from 1: the last box to take one, and the goals it may take, each
    with the mask of the others."""
    return tuple(
        (taken.bit_count() - 1, tuple((goal, taken ^ 1 << goal) for goal in cells_in_mask(taken)))
        for taken in range(1, 1 << goals)
    )


def _greedy_cost(costs: Sequence[Sequence[int]], tables: LevelTables) -> int:
    far = tables.height * tables.width  # the cost of a box without a goal
    pairs = sorted((cost, b, g) for b, row in enumerate(costs) for g, cost in enumerate(row))
    total = 0
    matched: set[int] = set()
    taken: set[int] = set()
    for cost, box, goal in pairs:
        if box not in matched and goal not in taken:
            matched.add(box)
            taken.add(goal)
            total += min(cost, far)
    return total


def progress(world: Position) -> float:
    """The share of the level that is solved: 0 at the start and in a dead position, 1 only when solved.

    Otherwise the mean of two shares, each at least 0: the boxes brought onto goals, of those to bring;
    and the pushes saved, of those needed at the start (see :func:`min_pushes_left`).
    """
    return measure_standing(world.level, world.boxes).progress


def _progress(tables: LevelTables, level: str, boxes: int, placed: int, left: int) -> float:
    if boxes == tables.goals:
        return 1.0
    if boxes == tables.boxes or left >= NEVER:
        return 0.0
    at_start = (tables.boxes & tables.goals).bit_count()
    share_placed = max(0.0, (placed - at_start) / (tables.goals.bit_count() - at_start))
    share_near = max(0.0, 1 - left / min_pushes_left(level, tables.boxes))
    return 0.5 * share_placed + 0.5 * share_near


def report(done: MovesResult, *, by_name: bool = False) -> str:
    """What the moves did, in words: the blocked move, all positions, what is lost or solved.

    ``by_name``: cells have their names (:mod:`llmzoo.envs.games.cells`), not their rows and columns.
    """
    world, made, blocked = done
    tables = build_tables(world.level)
    if world.boxes == tables.goals:
        return f"solved after {made} moves" if made != 1 else "solved after 1 move"
    cells, placed, lost, hopeless, _, _ = measure_standing(world.level, world.boxes)
    coordinates = (
        _names(tables.width, tables.height)
        if by_name
        else _coordinates(tables.width, tables.height, "row {} column {}")
    )
    if blocked is not None:
        moves_text = f"{describe_blocked_move(made + 1, blocked)} and what followed it was not made"
    else:
        moves_text = f"all {made} moves were made" if made != 1 else "the move was made"
    boxes = ", ".join([coordinates[cell] for cell in cells])
    moves_text += (
        f"; the player is at {coordinates[world.player]}; "
        f"{'the box is' if len(cells) == 1 else 'the boxes are'} at {boxes}; "
        f"boxes on goals: {placed} of {len(cells)}"
    )
    for cell in cells_in_mask(lost):
        moves_text += f"; the box at {coordinates[cell]} can never reach a goal"
    if hopeless and not lost:
        moves_text += "; the boxes can no longer reach a goal each"
    return moves_text


def brief_report(done: MovesResult) -> str:
    """What the moves did, without a word on boxes and goals: for a planner who sees half of the cells."""
    world, made, blocked = done
    tables = build_tables(world.level)
    if world.boxes == tables.goals:
        return "solved"
    where = _coordinates(tables.width, tables.height, "row {} column {}")[world.player]
    moves_text = (
        "every move was made" if blocked is None else f"move {made + 1} ({blocked}) was blocked"
    )
    return f"{moves_text}; the player is at {where}"


def terse_report(done: MovesResult) -> str:
    """The same in few tokens: ``player 3 4 box 2 2 placed 0/1 blocked 5 dead 2 2``, or ``solved``."""
    world, made, blocked = done
    tables = build_tables(world.level)
    if world.boxes == tables.goals:
        return "solved"
    cells, placed, lost, hopeless, _, _ = measure_standing(world.level, world.boxes)
    coordinates = _coordinates(tables.width, tables.height, "{} {}")
    boxes = " ".join([coordinates[cell] for cell in cells])
    text = f"player {coordinates[world.player]} box {boxes} placed {placed}/{len(cells)}"
    if blocked is not None:
        text += f" blocked {made + 1}"
    if hopeless:
        text += " ".join([" dead", *[coordinates[cell] for cell in cells_in_mask(lost)]])
    return text


@cache
def _coordinates(width: int, height: int, form: str) -> tuple[str, ...]:
    """Row and column of each cell, counted from 1."""
    return tuple(
        form.format(row + 1, column + 1) for row in range(height) for column in range(width)
    )


@cache
def _names(width: int, height: int) -> tuple[str, ...]:
    return tuple(cell_name(row, column) for row in range(height) for column in range(width))


def draw_position(world: Position) -> str:
    """The position in XSB text."""
    empty = measure_standing(world.level, world.boxes).drawn
    index = world.player + world.player // build_tables(world.level).width
    player = "+" if empty[index] == "." else "@"
    return f"{empty[:index]}{player}{empty[index + 1 :]}"
