"""Scripted builders: experts who divide the cells like a chessboard, and noisy experts who err.

Builder 0 takes the cells with an even x + y, builder 1 those with an odd one, so touching blocks are of
different materials, and no cell is written twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from llmzoo.envs.building.blocks import AIR, FillCommand
from llmzoo.envs.building.str_build.tasks import WordTask

SLIPS = ("forgets", "shifts", "upside down", "other half", "typing", "rows")


def remaining_commands(
    task: WordTask, grid: bytes, builder: int, materials: Sequence[int]
) -> list[FillCommand]:
    """What is left to do in the cells of ``builder``, which places its own material there."""
    todo = []
    for at, wanted in enumerate(task.target):
        x, y, z = task.box.place(at)
        material = materials[builder] if wanted else AIR
        if (x + y) % 2 == builder and grid[at] != material:
            todo.append(FillCommand((x, y, z), (x, y, z), material))
    return todo


def expert(task: WordTask, grid: bytes, builders: Sequence[int], materials: Sequence[int]) -> str:
    """The orders for the halves ``builders`` of the cells."""
    return format_commands(
        [c for builder in builders for c in remaining_commands(task, grid, builder, materials)]
    )


def noisy_expert(
    task: WordTask,
    grid: bytes,
    builders: Sequence[int],
    materials: Sequence[int],
    rng: random.Random,
) -> str:
    """The same, often with a slip: some cells forgotten, all of them a column too far right, the
    text upside down, the other builder's cells, orders that are cut short, or whole rows at once."""
    todo = [c for builder in builders for c in remaining_commands(task, grid, builder, materials)]
    slip = rng.choice((*["none"] * 6, *SLIPS))
    if slip == "forgets":
        todo = [c for c in todo if rng.random() < 0.7]
    elif slip == "shifts":
        todo = [_shift_command(c, min(c.low[0] + 1, task.box.width - 1), c.low[1]) for c in todo]
    elif slip == "upside down":
        todo = [_shift_command(c, c.low[0], task.box.height - 1 - c.low[1]) for c in todo]
    elif slip == "other half" and len(builders) == 1:
        todo = remaining_commands(task, grid, 1 - builders[0], [materials[builders[0]]] * 2)
    elif slip == "typing":
        return "\n".join(_truncate_order(str(c), rng) for c in todo) or "pass"
    elif slip == "rows":
        middle = task.box.height // 2
        end = task.box.width - 1
        row = FillCommand((0, middle, 0), (end, middle, 0), materials[builders[0]])
        return "\n".join(map(str, [*todo, row]))
    return f"I build my cells:\n{format_commands(todo)}"


def format_commands(todo: Sequence[FillCommand]) -> str:
    return "\n".join(map(str, todo)) or "pass"


def _shift_command(command: FillCommand, x: int, y: int) -> FillCommand:
    return FillCommand((x, y, 0), (x, y, 0), command.material)


def _truncate_order(order: str, rng: random.Random) -> str:
    """The order, in three of ten cases without its material."""
    return order.rpartition(" ")[0] if rng.random() < 0.3 else order
