"""Walking and taking: what the orders of a round do to a field. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from llmzoo.envs.building.orders import (
    OrderRefused,
    Orders,
    Reader,
    check_coordinate,
    parse_numbers,
)
from llmzoo.envs.building.resource_gathering.tasks import (
    KINDS,
    REACH,
    TAKES,
    Cell,
    FieldTask,
    Stack,
    distance,
    visible_cells,
    walk_cells,
)


class GoOrder(NamedTuple):
    """``worker`` walks to ``cell``."""

    worker: str
    cell: Cell

    def __str__(self) -> str:
        return f"go {self.cell[0]} {self.cell[1]}"


class TakeOrder(NamedTuple):
    """``worker`` takes one block from the stack in ``cell``."""

    worker: str
    cell: Cell

    def __str__(self) -> str:
        return f"take {self.cell[0]} {self.cell[1]}"


@dataclass(frozen=True, slots=True)
class FieldState:
    """places, seen_cells: where each worker is, and the cells it has seen. stacks: what is left. stock: what has
    been gathered, by kind."""

    places: Mapping[str, Cell]
    seen_cells: Mapping[str, frozenset[Cell]]
    stacks: tuple[Stack, ...]
    stock: Mapping[str, int]

    def at(self, cell: Cell) -> Stack | None:
        return next((stack for stack in self.stacks if stack.cell == cell), None)

    def known_stacks(self, worker: str) -> list[Stack]:
        """The stacks in the cells that a worker has seen."""
        return [stack for stack in self.stacks if stack.cell in self.seen_cells[worker]]


def initial_field(task: FieldTask, workers: Iterable[str]) -> FieldState:
    """The field at the start."""
    places = dict(zip(workers, task.starts, strict=True))
    seen = {worker: frozenset(visible_cells(cell, task.size)) for worker, cell in places.items()}
    return FieldState(places, seen, task.stacks, dict.fromkeys(KINDS, 0))


def worker_readers(size: int, worker: str) -> dict[str, Reader]:
    """How a worker's ``go`` and ``take`` are read."""

    def cell(rest: str, verb: str) -> Cell:
        words = rest.split()
        if len(words) != 2:
            raise OrderRefused(f"{verb} takes x z")
        x, z = parse_numbers(words)
        return check_coordinate("x", x, size), check_coordinate("z", z, size)

    return {
        "go": lambda rest: GoOrder(worker, cell(rest, "go")),
        "take": lambda rest: TakeOrder(worker, cell(rest, "take")),
    }


def execute_orders(
    task: FieldTask, field: FieldState, given: Mapping[str, Orders]
) -> tuple[FieldState, dict[str, tuple[str, ...]]]:
    """The field after the orders of a round, agent by agent, and what was refused of each agent."""
    steps = dict.fromkeys(field.places, task.steps)
    refused: dict[str, tuple[str, ...]] = {}
    for builder, orders in given.items():
        late = []
        for number, order in orders.given:
            try:
                field = _execute_order(task, field, order, steps)
            except OrderRefused as reason:
                late.append(f"line {number}: {reason}")
        refused[builder] = tuple(late)
    return field, refused


def gathered_iou(task: FieldTask, stock: Mapping[str, int]) -> float:
    """Intersection over union of what there is and what is needed, counted in blocks of each kind."""
    needs = dict(zip(KINDS, task.needs, strict=True))
    both = sum(min(stock[kind], need) for kind, need in needs.items())
    return both / sum(max(stock[kind], need) for kind, need in needs.items())


def _execute_order(
    task: FieldTask, field: FieldState, order: GoOrder | TakeOrder, steps: dict[str, int]
) -> FieldState:
    worker = order.worker
    here = field.places[worker]
    if isinstance(order, GoOrder):
        cells = walk_cells(here, order.cell)
        if len(cells) > steps[worker]:
            raise OrderRefused(f"it is {len(cells)} steps away, you have {steps[worker]}")
        steps[worker] -= len(cells)
        seen = field.seen_cells[worker].union(*(visible_cells(cell, task.size) for cell in cells))
        return replace(
            field,
            places={**field.places, worker: order.cell},
            seen_cells={**field.seen_cells, worker: seen},
        )
    if distance(here, order.cell) > REACH:
        raise OrderRefused(f"it is more than {REACH} steps away")
    stack = field.at(order.cell)
    if stack is None:
        raise OrderRefused("there is nothing")
    if stack.kind not in TAKES[worker]:
        raise OrderRefused(f"a {worker} takes {' and '.join(TAKES[worker])}, this is {stack.kind}")
    rest = [s if s is not stack else s._replace(blocks=s.blocks - 1) for s in field.stacks]
    return replace(
        field,
        stacks=tuple(s for s in rest if s.blocks),
        stock={**field.stock, stack.kind: field.stock[stack.kind] + 1},
    )
