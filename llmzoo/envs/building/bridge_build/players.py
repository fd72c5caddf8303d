"""Scripted builders of a bridge: experts who tell each other where their banks are, and noisy experts who err.

In the first round an expert says the edge and the height of its bank. From the second on it builds its half
of the bridge that follows from both, as far as it is not there. It reads no more of the other half than
the message says.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from llmzoo.envs.building.blocks import FillCommand, cover_with_boxes
from llmzoo.envs.building.bridge_build.tasks import Bank, BridgeTask, build_target

SLIPS = ("own height", "no steps", "no piers", "forgets", "typing")

_BANK = re.compile(r"edge[^0-9]{0,40}([0-9]{1,2})[^0-9]{1,40}([0-9]{1,2})(?![0-9])")


def format_bank(bank: Bank) -> str:
    return f"say the edge of my bank is x {bank.edge}, its height y {bank.height}"


def parse_bank(messages: Iterable[str]) -> Bank | None:
    """The bank that the last message names that names one."""
    found = None
    for text in messages:
        for match in _BANK.finditer(text):
            found = Bank(int(match[1]), int(match[2]))
    return found


def known_banks(
    task: BridgeTask, builder: int, messages: Iterable[str]
) -> tuple[Bank, Bank] | None:
    """Both banks, as an agent knows them; None if it has not heard of the other's."""
    other = parse_bank(messages)
    if other is None or not 0 < other.height < task.box.height:
        return None
    west, east = (task.west, other) if builder == 0 else (other, task.east)
    return (west, east) if 0 <= west.edge < task.middle <= east.edge < task.box.width else None


def remaining_commands(
    task: BridgeTask, grid: bytes, banks: tuple[Bank, Bank], columns: Sequence[int]
) -> list[FillCommand]:
    """What is left to do in ``columns``."""
    wanted = build_target(task.box, *banks, task.rocks)
    todo: dict[int, list[int]] = {}
    for at, material in enumerate(wanted):
        if task.box.place(at)[0] in columns and grid[at] != material:
            todo.setdefault(material, []).append(at)
    return [
        fill
        for material, cells in todo.items()
        for fill in cover_with_boxes(task.box, cells, material)
    ]


def half_columns(task: BridgeTask, builder: int) -> range:
    """The columns of an agent's half."""
    return range(task.middle) if builder == 0 else range(task.middle, task.box.width)


def expert(task: BridgeTask, grid: bytes, builder: int, messages: Sequence[str]) -> str:
    """What an agent answers after it has read ``messages`` of the other, none of them in the first round."""
    banks = known_banks(task, builder, messages)
    if banks is None:
        return format_bank((task.west, task.east)[builder])
    return format_commands(remaining_commands(task, grid, banks, half_columns(task, builder)))


def noisy_expert(
    task: BridgeTask, grid: bytes, builder: int, messages: Sequence[str], rng: random.Random
) -> str:
    """The same, often with a slip: a message that says nothing, or a height that is one too high; a deck at
    the own height, without steps or piers, with holes, or of a material that there is not."""
    own = (task.west, task.east)[builder]
    slip = rng.choice((*["none"] * 6, *SLIPS))
    banks = known_banks(task, builder, messages)
    if banks is None:
        if messages or rng.random() < 0.15:
            banks = _guess_banks(task, builder)
        elif slip == "own height":
            return "say I am ready to build, tell me about your side"
        else:
            return format_bank(own._replace(height=own.height + (slip == "no steps")))
    return _with_slip(task, grid, banks, half_columns(task, builder), slip, rng)


def noisy_expert_alone(task: BridgeTask, grid: bytes, rng: random.Random) -> str:
    slip = rng.choice((*["none"] * 6, *SLIPS))
    everywhere = range(task.box.width)
    return _with_slip(task, grid, (task.west, task.east), everywhere, slip, rng)


def format_commands(todo: Sequence[FillCommand]) -> str:
    return "\n".join(map(str, todo)) or "pass"


def _guess_banks(task: BridgeTask, builder: int) -> tuple[Bank, Bank]:
    """Both banks, as if the other were the mirror image of the own one."""
    last = task.box.width - 1
    if builder == 0:
        return task.west, Bank(last - task.west.edge, task.west.height)
    return Bank(last - task.east.edge, task.east.height), task.east


def _with_slip(
    task: BridgeTask,
    grid: bytes,
    banks: tuple[Bank, Bank],
    columns: Sequence[int],
    slip: str,
    rng: random.Random,
) -> str:
    west, east = banks
    if slip == "own height":
        banks = (west, east._replace(height=west.height))
    elif slip == "no steps":
        low = min(west.height, east.height)
        banks = (west._replace(height=low), east._replace(height=low))
    todo = remaining_commands(task, grid, banks, columns)
    if slip == "no piers":
        todo = [c for c in todo if c.low[1] == c.high[1]]
    elif slip == "forgets":
        todo = [c for c in todo if rng.random() < 0.7]
    elif slip == "typing":
        return "\n".join(str(c).replace("wood", "plank") for c in todo) or "pass"
    return f"My half:\n{format_commands(todo)}"
