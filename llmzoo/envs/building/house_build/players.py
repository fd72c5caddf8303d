"""Scripted builders of a house: experts who halve each material, and noisy experts who err.

Of the cells of a material, from the ground up, builder 0 takes the first half and builder 1 the second, so
that neither needs more blocks than it has.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from llmzoo.envs.building.blocks import AIR, DOOR, GLASS, FillCommand, cover_with_boxes
from llmzoo.envs.building.house_build.tasks import HouseTask

SLIPS = ("forgets", "too high", "no openings", "other half", "typing")


def remaining_commands(task: HouseTask, grid: bytes, half: int) -> list[FillCommand]:
    """What is left to do in a half of the cells."""
    todo = []
    for material, count in task.counts.items():
        cells = [at for at, wanted in enumerate(task.target) if wanted == material]
        middle = (count + 1) // 2
        own = cells[middle:] if half else cells[:middle]
        todo += cover_with_boxes(task.box, [at for at in own if grid[at] != material], material)
    extra = [at for at, built in enumerate(grid) if built != AIR and task.target[at] == AIR]
    own = [at for at in extra if sum(task.box.place(at)) % 2 == half]
    return [*cover_with_boxes(task.box, own, AIR), *todo]


def expert(task: HouseTask, grid: bytes, halves: Sequence[int]) -> str:
    todo = [c for half in halves for c in remaining_commands(task, grid, half)]
    return "\n".join(map(str, todo)) or "pass"


def noisy_expert(task: HouseTask, grid: bytes, halves: Sequence[int], rng: random.Random) -> str:
    """The same, often with a slip: some orders forgotten, all of them a layer too high, neither
    door nor windows, the other builder's half, or a material that there is not."""
    slip = rng.choice((*["none"] * 6, *SLIPS))
    if slip == "other half" and len(halves) == 1:
        halves = [1 - halves[0]]
    todo = [c for half in halves for c in remaining_commands(task, grid, half)]
    if slip == "forgets":
        todo = [c for c in todo if rng.random() < 0.7]
    elif slip == "too high":
        todo = [_raise_command(c, task.box.height - 1) for c in todo]
    elif slip == "no openings":
        todo = [c for c in todo if c.material not in (GLASS, DOOR)]
    elif slip == "typing":
        wrong = ["oak" if rng.random() < 0.3 else None for _ in todo]
        orders = [
            f"{str(c).rpartition(' ')[0]} {name}" if name else str(c)
            for c, name in zip(todo, wrong, strict=True)
        ]
        return "\n".join(orders) or "pass"
    return "My part of the house:\n" + ("\n".join(map(str, todo)) or "pass")


def _raise_command(command: FillCommand, top: int) -> FillCommand:
    (x1, y1, z1), (x2, y2, z2), material = command
    return FillCommand((x1, min(y1 + 1, top), z1), (x2, min(y2 + 1, top), z2), material)
