"""What the fakes pretend to solve: the tasks of ``programs/tasks.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.sandbox.attacks.program_files import read_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingTask:
    """A task, with a right and a wrong solution as controls."""

    name: str
    mode: Literal["check", "calls", "stdio"]
    right: str
    wrong: str
    tests: str = ""
    entry_point: str | None = None
    cases: tuple[Any, ...] = ()  # (function, args, expected) or (stdin, expected)


TASKS: dict[str, CodingTask] = {
    row["name"]: CodingTask(**{**row, "cases": tuple(map(tuple, row.get("cases", ())))})
    for row in read_tasks()
}
