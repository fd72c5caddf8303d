"""Carrying out moves in sokoban, and judging positions. Pure functions; rows and columns count from 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from llmzoo.envs.games.moves import parse_moves
from llmzoo.envs.games.sokoban.board import NEVER, Board, bits, board_of

MAX_MOVES = 1000
EXACT = 8  # boxes up to which the assignment to goals is exact; beyond, it is greedy


class World(NamedTuple):
    """A level (its XSB text), the player's cell, and the mask of the boxes' cells."""

    level: str
    player: int
    boxes: int


class Run(NamedTuple):
    """``made`` moves were carried out; the next one was ``blocked``, or none was (None)."""

    world: World
    made: int
    blocked: str | None


def parse(text: str) -> str:
    """The moves of an answer as ``U``, ``D``, ``L``, ``R``; see :func:`parse_moves` for the forms.

    LURD notation (capitals for pushes) is read too. Raises :class:`Malformed` if there are no moves
    in it, or more than 1,000.
    """
    return parse_moves(text, MAX_MOVES)


def start(level: str) -> World:
    board = board_of(level)
    return World(level, board.player, board.boxes)


def run(world: World, moves: str) -> Run:
    """Carry out ``moves`` up to the first that is impossible, or until the level is solved."""
    board = board_of(world.level)
    player, boxes, floor, steps = world.player, world.boxes, board.floor, board.steps
    for made, move in enumerate(moves):
        if boxes == board.goals:
            return Run(World(world.level, player, boxes), made, None)
        step = steps[move]
        to = 1 << player + step
        if boxes & to:
            beyond = 1 << player + 2 * step
            if not beyond & floor & ~boxes:
                return Run(World(world.level, player, boxes), made, move)
            boxes ^= to | beyond
        elif not floor & to:
            return Run(World(world.level, player, boxes), made, move)
        player += step
    return Run(World(world.level, player, boxes), len(moves), None)


def is_solved(world: World) -> bool:
    return world.boxes == board_of(world.level).goals


def placed(world: World) -> int:
    """The number of boxes on goals."""
    return (world.boxes & board_of(world.level).goals).bit_count()


def lost_boxes(world: World) -> int:
    """The mask of boxes off goal that can never reach one.

    They stand on a cell from which no goal can be reached, or are frozen: along both axes a wall,
    another frozen box, or dead cells on both sides keep them where they are, in whatever order the
    boxes are moved. A solvable position has none; an unsolvable one may have none either.
    """
    board = board_of(world.level)
    width, walls, dead = board.width, ~board.floor, board.dead
    across = dead << 1 & dead >> 1
    along = dead << width & dead >> width
    frozen, before = world.boxes, 0
    while frozen != before:
        before = frozen
        fixed = walls | frozen
        frozen &= fixed << 1 | fixed >> 1 | across
        frozen &= fixed << width | fixed >> width | along
    return (world.boxes & dead) | (frozen & ~board.goals)


def is_dead(world: World) -> bool:
    """Whether the position is seen to be unsolvable: a lost box, or too few goals within reach."""
    return bool(lost_boxes(world)) or pushes_left(world.level, world.boxes) >= NEVER


@lru_cache(maxsize=16384)
def pushes_left(level: str, boxes: int) -> int:
    """The cheapest assignment of boxes to goals, in pushes of single boxes on the empty board.

    A lower bound of the pushes to a solution for up to 8 boxes, ``NEVER`` or more where no
    assignment exists; for more boxes the nearest pairs are taken first, which is neither.
    """
    board = board_of(level)
    costs = [[distance[cell] for distance in board.distances] for cell in bits(boxes)]
    if len(costs) > EXACT:
        return _greedy(costs, board)
    best = {0: 0}  # mask of the goals taken by the boxes so far: pushes
    for row in costs:
        following: dict[int, int] = {}
        for taken, pushes in best.items():
            for goal, distance in enumerate(row):
                with_goal = taken | 1 << goal
                if with_goal != taken and pushes + distance < following.get(with_goal, NEVER):
                    following[with_goal] = pushes + distance
        best = following
    return min(best.values(), default=NEVER)


def _greedy(costs: Sequence[Sequence[int]], board: Board) -> int:
    far = board.height * board.width  # what a box costs that is left without a goal
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


def progress(world: World) -> float:
    """How far the level is solved; 0 at the start and in a dead position, 1 only when solved.

    Otherwise the mean of two shares, each at least 0: of the boxes to be placed, those that are
    now on goals; and of the pushes that the start needs (see :func:`pushes_left`), those saved.
    """
    board = board_of(world.level)
    if world.boxes == board.goals:
        return 1.0
    if world.boxes == board.boxes or is_dead(world):
        return 0.0
    at_start = (board.boxes & board.goals).bit_count()
    to_place = board.goals.bit_count() - at_start
    total = pushes_left(world.level, board.boxes)
    share_placed = max(0.0, (placed(world) - at_start) / to_place)
    share_near = max(0.0, 1 - pushes_left(world.level, world.boxes) / total)
    return 0.5 * share_placed + 0.5 * share_near


def report(done: Run) -> str:
    """What a run did, in words: the blocked move, where everything is, what is lost or solved."""
    world, made, blocked = done
    board = board_of(world.level)
    if world.boxes == board.goals:
        return f"solved after {made} moves" if made != 1 else "solved after 1 move"
    places = _places(board.width, board.height, "row {} column {}")
    boxes = [places[cell] for cell in bits(world.boxes)]
    parts = [
        f"all {made} moves were made" if made != 1 else "the move was made",
        f"the player is at {places[world.player]}",
        f"the box is at {boxes[0]}" if len(boxes) == 1 else f"the boxes are at {', '.join(boxes)}",
        f"boxes on goals: {placed(world)} of {len(boxes)}",
    ]
    if blocked is not None:
        parts[0] = f"move {made + 1} ({blocked}) was blocked and what followed it was not made"
    lost = lost_boxes(world)
    parts += [f"the box at {places[cell]} can never reach a goal" for cell in bits(lost)]
    if not lost and pushes_left(world.level, world.boxes) >= NEVER:
        parts.append("the boxes can no longer reach a goal each")
    return "; ".join(parts)


def terse_report(done: Run) -> str:
    """The same in few tokens: ``player 3 4 box 2 2 placed 0/1 blocked 5 dead 2 2``, or ``solved``."""
    world, made, blocked = done
    board = board_of(world.level)
    if world.boxes == board.goals:
        return "solved"
    places = _places(board.width, board.height, "{} {}")

    def at(cells: int) -> str:
        return " ".join([places[cell] for cell in bits(cells)])

    count = world.boxes.bit_count()
    text = f"player {places[world.player]} box {at(world.boxes)} placed {placed(world)}/{count}"
    if blocked is not None:
        text += f" blocked {made + 1}"
    lost = lost_boxes(world)
    if lost or pushes_left(world.level, world.boxes) >= NEVER:
        text += f" dead {at(lost)}".rstrip()
    return text


@cache
def _places(width: int, height: int, form: str) -> tuple[str, ...]:
    """Row and column of each cell, counted from 1."""
    return tuple(
        form.format(row + 1, column + 1) for row in range(height) for column in range(width)
    )


def draw(world: World) -> str:
    """The position in XSB text."""
    width = board_of(world.level).width
    cells = list(world.level.translate(_EMPTIED))
    for cell in (*bits(world.boxes), world.player):
        place = cell + cell // width  # every line but the last ends in a newline
        symbols = "$*" if world.boxes >> cell & 1 else "@+"
        cells[place] = symbols[cells[place] == "."]
    return "".join(cells)


_EMPTIED = str.maketrans("$*@+", " . .")
