"""Broken programs: correct ones with mutations that are known to fail their tests.

``programs.jsonl`` holds the correct programs. ``mutants.json`` lists the mutations, single and double,
with which a program ends on all its tests and fails at least one public and one hidden one.
``scripts/samples/build.py --survey`` writes the mutations. A broken program is built when it is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.coding import mutations

_HERE = Path(__file__).parent

Call = tuple[str, tuple[Any, ...], Any]  # function, arguments, what it returns


@dataclass(frozen=True, slots=True)
class Program:
    """A correct program, as ``ast.unparse`` writes it. ``cases``: arguments and results as JSON."""

    name: str
    source: str
    cases: str

    def calls(self) -> tuple[list[Call], list[Call]]:
        """The public calls (every third) and the hidden ones (the others). They are fresh objects each
        time, since arguments can be changed."""
        made: list[Call] = [
            (self.name, tuple(args), result) for args, result in json.loads(self.cases)
        ]
        return made[::3], [call for number, call in enumerate(made) if number % 3]


@dataclass(frozen=True, slots=True)
class BugTask:
    """A program and the names of the mutations that break it."""

    program: Program
    mutants: tuple[str, ...]

    @property
    def broken_source(self) -> str:
        return _apply_mutants(self.program.source, self.mutants)

    @property
    def locations(self) -> frozenset[tuple[str, int]]:
        """The functions and lines where it is broken."""
        return _locations(self.program.source, self.broken_source)


def canonical(task: BugTask) -> str:
    """The correct program: all its mutants are in one split."""
    return " ".join(task.program.source.split())


@cache
def load_tasks(mutated: int | None) -> tuple[BugTask, ...]:
    """The tasks with this many mutations; all for None."""
    known = load_programs()
    return tuple(
        BugTask(known[name], tuple(mutants))
        for name, listed in json.loads((_HERE / "mutants.json").read_text(encoding="utf-8")).items()
        for mutants in listed
        if mutated in (None, len(mutants))
    )


@cache
def load_programs() -> Mapping[str, Program]:
    """The correct programs by name."""
    records = sources.read_shipped_records(_HERE / "programs.jsonl")
    return {r["name"]: Program(r["name"], r["source"], json.dumps(r["cases"])) for r in records}


@cache
def _apply_mutants(source: str, mutants: tuple[str, ...]) -> str:
    return mutations.mutate(source, mutants)


@cache
def _locations(source: str, broken: str) -> frozenset[tuple[str, int]]:
    return mutations.locations(source, broken)
