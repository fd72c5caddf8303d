"""Feedback between rounds. It comes from public tests and the agent's own program, never from hidden
tests or a solution."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmzoo.envs.coding import programs
from llmzoo.envs.coding.functions.scoring import Facts
from llmzoo.envs.coding.functions.tasks import HELPER, FunctionTask
from llmzoo.sandbox.results import Verdict

KINDS = ("diagnostics", "passed", "plain", "expert")
MAX_CHARS = 1_500
MAX_PROGRAM_CHARS = 2_000  # of an agent's own last program
_MAX_FAILURES = 2  # failed public tests that are shown


@dataclass(frozen=True, slots=True)
class Round:
    """A finished round: the agents' programs ("" if none could be read), what was wrong with them, and
    the verdict of the public tests (None if there was nothing to run)."""

    task: FunctionTask
    programs: Mapping[str, str]
    errors: Mapping[str, str]
    facts: Facts
    public: Verdict | None


def passed_summary(played: Round) -> str:
    """How many public tests pass."""
    if not played.task.public:
        return "there are no public tests"
    count = played.public.passed if played.public else 0
    return f"{count} of {len(played.task.public)} public tests pass"


def diagnostics(played: Round, agent: str) -> str:
    """What is wrong with the agent's own program, and the first public tests that fail."""
    lines = [played.errors[agent]] if agent in played.errors else []
    others = [other for other in played.errors if other != agent]
    lines += [f"the program of {other} could not be used" for other in others]
    return "\n".join([*lines, passed_summary(played), *_failures(played)])


def hints(played: Round, agent: str) -> str:
    """The edits that a scripted reviewer with a good division of the work asks for."""
    facts, entry_point = played.facts, played.task.entry_point
    writes_main = agent.startswith("main")
    lines = [played.errors[agent]] if agent in played.errors else []
    if not writes_main or "main_0" in played.programs:
        if facts.helper < 1:
            lines.append("the helper must return a value")
        signature = _helper_signature(played.task)
        if signature:
            lines.append(f"a helper that fits is {signature}")
    if writes_main and facts.main:
        if facts.calls < 1:
            lines.append(f"call {HELPER} in {entry_point} and use what it returns")
        elif facts.ignored > 0:
            lines.append(f"use what {HELPER} returns")
        elif not facts.beyond:
            lines.append(f"{entry_point} should do part of the work itself")
    return "\n".join([*lines, passed_summary(played), *_failures(played)])


def review(played: Round, agent: str) -> str:
    """The prompt of a policy that suggests edits to ``agent``'s program."""
    shown = [
        f"Program of {other}:\n```python\n{truncate(program, MAX_PROGRAM_CHARS)}\n```"
        for other, program in played.programs.items()
    ]
    return "\n\n".join(
        [
            f"You review a program that several programmers write together. Problem:\n\n"
            f"{played.task.statement.strip()}",
            *shown,
            f"Public tests: {truncate(diagnostics(played, agent), MAX_CHARS)}",
            f"Say in a few sentences, or in code, what {agent} should change.",
            "Your answer:",
        ]
    )


def truncate(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` characters with three dots at the end if it is longer."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _failures(played: Round) -> Sequence[str]:
    verdict = played.public
    if verdict is None or verdict.ok:
        return []
    if len(verdict.cases) != len(played.task.public):
        return [verdict.error or verdict.status]
    lines = []
    for test, case in zip(played.task.public, verdict.cases, strict=True):
        if not case.passed:
            got = f"got {case.got}" if case.got else case.error
            lines.append(f"fails: {truncate(test, 300)}  # {truncate(got, 300)}")
    return lines[:_MAX_FAILURES]


def _helper_signature(task: FunctionTask) -> str:
    """The call of the reference's helper, if the reference has two parts."""
    if len(task.solution) != 2:
        return ""
    function = programs.functions(task.solution[0])[HELPER]
    return f"{HELPER}({ast.unparse(function.args)})"
