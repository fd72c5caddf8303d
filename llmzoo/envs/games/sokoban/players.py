"""Scripted sokoban players: a push-optimal solver, and a noisy expert who errs as people do."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Set
from functools import lru_cache

from llmzoo.envs.games import cells, split_view
from llmzoo.envs.games.moves import DELTAS
from llmzoo.envs.games.sokoban import scoring, tasks
from llmzoo.envs.games.sokoban.levels import (
    NEVER,
    LevelTables,
    build_tables,
    cells_in_mask,
    flood_fill,
)
from llmzoo.envs.games.sokoban.scoring import Position
from llmzoo.envs.games.sokoban.tasks import SokobanTask
from llmzoo.envs.record_files import BadRecord

NODE_LIMIT = 50_000  # positions expanded: a few seconds on 10x10 levels with 4 boxes

_OPPOSITE = {"U": "D", "D": "U", "L": "R", "R": "L"}

Push = tuple[int, int]  # the box's cell and the step it makes


def solve(
    task: SokobanTask | Position, limit: int = NODE_LIMIT, rng: random.Random | None = None
) -> str | None:
    """Moves that solve the level with the fewest pushes; None if it is unsolvable or over the limit.

    ``rng``: draws among such solutions, and among the shortest walks between pushes.
    """
    world = scoring.start_position(task.level) if isinstance(task, SokobanTask) else task
    return _solve(world, limit) if rng is None else _solution(world, limit, rng)


def expert(world: Position, rng: random.Random | None = None) -> str:
    """Moves that solve the position, or one harmless step if none are known. ``rng``: see :func:`solve`."""
    solution = solve(world, rng=rng)
    if solution is None:
        return min("UDLR", key=lambda move: _move_cost(world, move))
    return solution[: scoring.MAX_MOVES]


def noisy_expert(world: Position, rng: random.Random, slips: tuple[int, int] = (1, 3)) -> str:
    """The expert's moves with one to three slips.

    A slip is a detour (a free step and back), a wrong move, a step left out (so that a box is pushed from
    the wrong side, or not at all), or stopping too early.
    """
    moves = list(expert(world))
    for _ in range(rng.randint(*slips)):
        index = rng.randrange(len(moves))
        slip = rng.choice(("detour", "mistaken", "left out", "stop"))
        other = rng.choice("UDLR")
        if slip == "detour":
            there = scoring.run_moves(world, "".join(moves[:index])).world
            if not _move_cost(there, other):
                moves[index:index] = [other, _OPPOSITE[other]]
        elif slip == "mistaken":
            moves[index] = other
        elif len(moves) > 1:
            del moves[index or 1 : index + 1 if slip == "left out" else None]
    return "".join(moves)


def _move_cost(world: Position, move: str) -> int:
    """0 for a step without a push, 1 for a push, 2 for an impossible move."""
    done = scoring.run_moves(world, move)
    return 2 if done.blocked else int(done.world.boxes != world.boxes)


def explain_solution(world: Position, moves: str) -> list[str]:
    """The cells that boxes are pushed over, a line for all pushes of one box in a row."""
    tables = build_tables(world.level)
    ways: list[list[int]] = []
    player, boxes = world.player, world.boxes
    for move in moves:
        step = tables.steps[move]
        player += step
        if boxes >> player & 1:
            boxes ^= 1 << player | 1 << player + step
            if not ways or ways[-1][-1] != player:
                ways.append([player])
            ways[-1].append(player + step)
    return [cells.format_cells("box", (divmod(cell, tables.width) for cell in way)) for way in ways]


@lru_cache(maxsize=1024)
def _solve(world: Position, limit: int) -> str | None:
    return _solution(world, limit)


def _solution(world: Position, limit: int, rng: random.Random | None = None) -> str | None:
    pushes = _fewest_pushes(world, limit, rng)
    if pushes is None:
        return None
    tables = build_tables(world.level)
    names = {step: move for move, step in tables.steps.items()}
    player, boxes = world.player, world.boxes
    moves = []
    for cell, step in pushes:
        moves += [
            names[s]
            for s in _shortest_walk(player, cell - step, tables.floor & ~boxes, tables, rng)
        ]
        moves.append(names[step])
        boxes ^= 1 << cell | 1 << cell + step
        player = cell
    return "".join(moves)


def _fewest_pushes(
    world: Position, limit: int, rng: random.Random | None = None
) -> list[Push] | None:
    """A* over (boxes, top-left cell within the player's reach). ``rng``: breaks ties."""
    chance = rng.random if rng else float
    tables = build_tables(world.level)
    floor, width = tables.floor, tables.width
    steps = tuple(tables.steps.values())

    def state(boxes: int, player: int) -> tuple[int, int]:
        reach = flood_fill(player, floor & ~boxes, width)
        return boxes, reach & -reach

    first = state(world.boxes, 1 << world.player)
    made: dict[tuple[int, int], int] = {first: 0}
    came: dict[tuple[int, int], tuple[tuple[int, int], Push]] = {}
    queue = [(_min_pushes(world.level, world.boxes), 0, chance(), *first)]
    expanded = 0
    while queue and expanded < limit:
        _, back, _, boxes, corner = heapq.heappop(queue)
        here, pushes = (boxes, corner), -back
        if boxes == tables.goals:
            path = []
            while here != first:
                here, push = came[here]
                path.append(push)
            return path[::-1]
        if made[here] < pushes:
            continue
        expanded += 1
        empty = floor & ~boxes
        reach = flood_fill(corner, empty, width)
        safe = empty & ~tables.dead
        for step in steps:
            if step > 0:
                movable = boxes & reach << step & safe >> step
            else:
                movable = boxes & reach >> -step & safe << -step
            for cell in cells_in_mask(movable):
                moved = boxes ^ (1 << cell | 1 << cell + step)
                there = state(moved, 1 << cell)
                if pushes + 1 >= made.get(there, NEVER):
                    continue
                left = _min_pushes(world.level, moved)
                if left >= NEVER or scoring.find_lost_boxes(world.level, moved):
                    continue
                made[there] = pushes + 1
                came[there] = here, (cell, step)
                heapq.heappush(queue, (pushes + 1 + left, -pushes - 1, chance(), *there))
    return None


def _min_pushes(level: str, boxes: int) -> int:
    """A lower bound of the pushes to a solution; a push lowers it by at most one."""
    if boxes.bit_count() <= scoring.EXACT:
        return scoring.min_pushes_left(level, boxes)
    distances = build_tables(level).distances
    return sum(min(distance[cell] for distance in distances) for cell in cells_in_mask(boxes))


def _shortest_walk(
    start: int, end: int, free: int, tables: LevelTables, rng: random.Random | None = None
) -> list[int]:
    """The steps of a shortest walk over ``free`` cells; there is one. ``rng``: draws among such walks."""
    steps = list(tables.steps.values())
    came = {start: 0}
    frontier = [start]
    while end not in came:
        following = []
        if rng is not None:
            rng.shuffle(frontier)
        for cell in frontier:
            for step in steps:
                to = cell + step
                if to not in came and free >> to & 1:
                    came[to] = step
                    following.append(to)
        frontier = following
    path = []
    while end != start:
        path.append(came[end])
        end -= came[end]
    return path[::-1]


def reconstruct_position(seen: str, message: str) -> Position | None:
    """The position that the planner's half and a message give; None if they give no level."""
    mine = seen.split("\n")
    other_rows = split_view.parse_rows(message, len(mine), len(mine[0]), "# .$*?")
    if other_rows is None:
        return None
    rows = [
        "".join(
            _merge_cell(own, theirs, split_view.is_planner_checkerboard_cell(r, c))
            for c, (own, theirs) in enumerate(zip(*pair, strict=True))
        )
        for r, pair in enumerate(zip(mine, other_rows, strict=True))
    ]
    try:
        return scoring.start_position(tasks.validate_level(rows))
    except BadRecord:
        return None


def _merge_cell(own: str, theirs: str, planners: bool) -> str:
    """A cell, from the symbols that the planner and the proposer have for it."""
    goal = theirs in ".*"
    if own == "@" or planners:
        return {"@": "@+", " ": " .", "$": "$*"}.get(own, own * 2)[goal]
    return theirs.replace(split_view.UNSEEN, " ")


def explore(seen: str, turn: int) -> str:
    """The moves of a planner who hears nothing: they push a box that it sees over every cell that the box
    may reach, or else walk over every cell, in another order each turn. Unseen cells count as floor."""
    rows = seen.split("\n")
    cells = {(r, c): symbol for r, row in enumerate(rows) for c, symbol in enumerate(row)}
    inner = {
        (r, c) for r, c in cells if 0 < r < len(rows) - 1 and 0 < c < len(rows[0]) - 1
    }  # the outer wall is certain
    boxes = sorted(cell for cell in inner if cells[cell] == "$")
    box = boxes[turn % len(boxes)] if boxes else None
    free = {cell for cell in inner if cells[cell] not in "#$"} | ({box} if box else set())
    player = next(cell for cell, symbol in cells.items() if symbol == "@")
    order = "UDLR"[turn % 4 :] + "UDLR"[: turn % 4]
    moves = ""
    visited: set[tuple[int, int] | None] = {box or player}
    while len(moves) < scoring.MAX_MOVES:
        further = _to_a_new_cell((player, box), free, visited, order)
        if further is None:
            break
        path, (player, box) = further
        visited.add(box or player)
        moves += path
    return moves[: scoring.MAX_MOVES] or order[0]


_Cell = tuple[int, int]
_Places = tuple[_Cell, _Cell | None]  # of the player and of the box


def _to_a_new_cell(
    start: _Places, free: Set[_Cell], visited: Set[_Cell | None], order: str
) -> tuple[str, _Places] | None:
    """The fewest moves that bring the box, or the player if there is no box, to a cell not visited yet."""
    came = {start: ""}
    for places in (frontier := [start]):  # grows during the loop: breadth first
        if (places[1] or places[0]) not in visited:
            return came[places], places
        for move, following in _steps(places, free, order):
            if following not in came:
                came[following] = came[places] + move
                frontier.append(following)
    return None


def _steps(places: _Places, free: Set[_Cell], order: str) -> Iterator[tuple[str, _Places]]:
    """The moves that are possible, and the places after them."""
    (row, column), box = places
    for move in order:
        down, right = DELTAS[move]
        to = row + down, column + right
        pushed = (to[0] + down, to[1] + right) if to == box else box
        if to in free and (pushed is None or pushed in free):
            yield move, (to, pushed)
