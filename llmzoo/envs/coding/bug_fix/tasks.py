"""Broken programs: shipped correct ones with mutations that are known to fail their tests.

``programs/`` holds the correct programs and ``mutants.json`` the mutations, single and double, with
which a program fails at least one public and one hidden test and still ends on all of them (see
``survey.py``). A broken program is put together when it is played.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from llmzoo.envs.coding import mutations

_HERE = "llmzoo.envs.coding.bug_fix"

Call = tuple[str, tuple[Any, ...], Any]  # function, arguments, what it returns


@dataclass(frozen=True, slots=True)
class Program:
    """A correct program, as ``ast.unparse`` writes it. ``cases`` is JSON: arguments and results."""

    name: str
    source: str
    cases: str

    def calls(self) -> tuple[list[Call], list[Call]]:
        """The public calls (every third) and the hidden ones (the others); made anew each time,
        since arguments can be changed."""
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
    def broken(self) -> str:
        return _broken(self.program.source, self.mutants)

    @property
    def locations(self) -> frozenset[tuple[str, int]]:
        """Where it is broken: function and line."""
        return _locations(self.program.source, self.broken)


def canonical(task: BugTask) -> str:
    """The correct program: its mutants stand on one side of the split."""
    return " ".join(task.program.source.split())


@cache
def shipped(mutated: int | None) -> tuple[BugTask, ...]:
    """The tasks with this many mutations; all for None."""
    known = programs()
    return tuple(
        BugTask(known[name], tuple(mutants))
        for name, found in json.loads(_read("mutants.json")).items()
        for mutants in found
        if mutated in (None, len(mutants))
    )


@cache
def programs() -> Mapping[str, Program]:
    """The correct programs by name."""
    cases = json.loads(_read("programs/cases.json"))
    found = {}
    for file in sorted(files(_HERE).joinpath("programs").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            for name, source in _functions(file.read_text(encoding="utf-8")):
                if name in cases:
                    found[name] = Program(name, source, json.dumps(cases[name]))
    return found


def _functions(text: str) -> Iterator[tuple[str, str]]:
    """Each function of a file with those before it that it calls."""
    defined = {
        node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    }
    for name, function in defined.items():
        called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        helpers = [node for other, node in defined.items() if other in called and other != name]
        yield name, ast.unparse(ast.Module([*helpers, function], []))


@cache
def _broken(source: str, mutants: tuple[str, ...]) -> str:
    return mutations.mutate(source, mutants)


@cache
def _locations(source: str, broken: str) -> frozenset[tuple[str, int]]:
    return mutations.locations(source, broken)


def _read(path: str) -> str:
    return files(_HERE).joinpath(path).read_text(encoding="utf-8")
