"""Scripted workers: experts who tell each other what they see, and noisy experts who err.

In the first round an expert says the stacks that it sees and the other takes. From then on it goes to the
nearest stack of its own that it has seen or heard of, and takes what is still missing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from llmzoo.envs.building.orders import Orders
from llmzoo.envs.building.resource_gathering.field import (
    FieldState,
    GoOrder,
    TakeOrder,
    execute_orders,
    gathered_iou,
    initial_field,
)
from llmzoo.envs.building.resource_gathering.tasks import (
    KINDS,
    REACH,
    TAKES,
    WORKERS,
    Cell,
    FieldTask,
    Stack,
    distance,
    sample_candidate,
    walk_cells,
)
from llmzoo.errors import ConfigError

SLIPS = ("too much", "too far", "forgets", "typing", "stays")

_MAX_TRIES = 500
_STACK = re.compile(r"\b(wood|stone|iron) ([0-9]) at ([0-9]{1,2}) ([0-9]{1,2})\b")


def format_report(task: FieldTask, field: FieldState, worker: str, limit: int) -> str:
    """The message of a worker: the stacks that others take, as many as fit into ``limit`` characters."""
    words: list[str] = []
    for stack in field.known_stacks(worker):
        if stack.kind not in TAKES[worker]:
            more = f"{stack.kind} {stack.blocks} at {stack.cell[0]} {stack.cell[1]}"
            if len("; ".join([*words, more])) <= limit:
                words.append(more)
    return f"say {'; '.join(words)}" if words else "pass"


def parse_reports(messages: Iterable[str], size: int) -> list[Stack]:
    """The stacks that messages name."""
    found = {}
    for text in messages:
        for kind, count, x, z in _STACK.findall(text):
            cell = int(x), int(z)
            if max(cell) < size and int(count):
                found[cell] = Stack(cell, kind, int(count))
    return list(found.values())


def plan_round(
    task: FieldTask, field: FieldState, worker: str, reported: Sequence[Stack]
) -> list[GoOrder | TakeOrder]:
    """Walks and takes of a round: to the nearest stack again and again, as far as the steps go."""
    here, steps = field.places[worker], task.steps
    missing = {
        kind: need - field.stock[kind]
        for kind, need in zip(KINDS, task.needs, strict=True)
        if kind in TAKES[worker]
    }
    seen = {stack.cell: stack for stack in field.known_stacks(worker)}
    stacks = {s.cell: s for s in reported if s.cell not in field.seen_cells[worker]} | seen
    left = [stack for stack in stacks.values() if missing.get(stack.kind, 0) > 0]
    orders: list[GoOrder | TakeOrder] = []
    while left:
        stack = min(left, key=lambda each: (distance(here, each.cell), each))
        left.remove(stack)
        if missing[stack.kind] <= 0:
            continue
        walk = walk_cells(here, stack.cell)
        needed = max(0, len(walk) - REACH)
        goal = walk[min(needed, steps) - 1] if needed and steps else here
        if goal != here:
            orders.append(GoOrder(worker, goal))
            steps -= distance(here, goal)
            here = goal
        if distance(here, stack.cell) > REACH:
            break
        count = min(missing[stack.kind], stack.blocks)
        orders += [TakeOrder(worker, stack.cell)] * count
        missing[stack.kind] -= count
    return orders


def is_solvable(task: FieldTask, rounds: int) -> bool:
    """Whether a pair of experts gathers everything: a round of reports, and then walks."""
    field = initial_field(task, WORKERS)
    reported = {
        worker: [s for s in field.known_stacks(partner) if s.kind in TAKES[worker]]
        for worker, partner in zip(WORKERS, reversed(WORKERS), strict=True)
    }
    for _ in range(rounds - 1):
        given = {
            worker: Orders(
                tuple(enumerate(plan_round(task, field, worker, reported[worker]), start=1))
            )
            for worker in WORKERS
        }
        field, _ = execute_orders(task, field, given)
    return gathered_iou(task, field.stock) == 1.0


def sample_task(
    rng: random.Random, size: int, needs: tuple[int, int, int], steps: int, rounds: int
) -> FieldTask:
    """A field in which a pair of experts gathers everything in ``rounds`` rounds.

    Raises ``ConfigError`` if there is none in hundreds of draws.
    """
    for _ in range(_MAX_TRIES):
        task = sample_candidate(rng, size, needs, steps)
        if is_solvable(task, rounds):
            return task
    raise ConfigError(f"no field of {size}x{size} in {_MAX_TRIES} draws; raise max_turns")


def noisy_expert(
    task: FieldTask,
    field: FieldState,
    worker: str,
    reported: Sequence[Stack],
    rng: random.Random,
) -> list[str]:
    """The walks and takes, often with a slip: more than is needed, a walk that is too far, only the first
    orders, orders without a number, or no walk."""
    orders = plan_round(task, field, worker, reported)
    lines = [str(order) for order in orders]
    slip = rng.choice((*["none"] * 6, *SLIPS))
    if slip == "too much" and isinstance(orders[-1] if orders else None, TakeOrder):
        return [*lines, lines[-1]]
    if slip == "too far":
        far = task.size - 1
        cell: Cell = (far if field.places[worker][0] <= far // 2 else 0, field.places[worker][1])
        return [str(GoOrder(worker, cell)), *lines]
    if slip == "forgets":
        return lines[: (len(lines) + 1) // 2]
    if slip == "typing":
        return [line.rpartition(" ")[0] if rng.random() < 0.4 else line for line in lines]
    if slip == "stays":
        return [line for line in lines if not line.startswith("go")]
    return lines
