"""The judges in the columns of the table: each runs programs in its own way.

They live in the trainer process. ``harm`` runs a program and gives back all that it brought out;
``fake`` gives back the status and the isolation of a verdict. Another tool's judge is a class with
these two methods, and its column is named ``module:Class``.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from llmzoo.sandbox.attacks.tasks import TASKS, CodingTask

LEVELS = (3, 2, 1)
INSIDE = ("+calls", "+check")  # columns in which harms are candidates


class Unavailable(Exception):
    """Why this machine cannot offer the column."""


class Judge(Protocol):
    def harm(self, program: str, mode: str, time_limit: float) -> str: ...

    def fake(self, program: str, task: CodingTask, time_limit: float) -> tuple[str, str]: ...


class SandboxColumn:
    """llmzoo.sandbox at one level. ``processes``: with programs allowed to start others.
    ``inside``: run harms as candidates of this kind of verdict rather than by themselves."""

    def __init__(self, level: int, processes: bool = False, inside: str = "run") -> None:
        from llmzoo.errors import SandboxError
        from llmzoo.sandbox import Limits, Sandbox

        self._limits, self._inside = Limits, inside
        try:
            self._box = Sandbox(
                workers=1, level=level, min_level=1, processes=processes, allow_shared=True
            )
            self._box.__enter__()
            outcome = self._box.report.level
        except SandboxError as error:
            raise Unavailable(str(error)) from error
        if outcome != level:
            raise Unavailable(f"asked for level {level}, got {outcome}: {self._box.report.missing}")
        for program in ("pass", "import ctypes"):  # whatever it starts when it is first needed
            self._box.run(program)

    def harm(self, program: str, mode: str, time_limit: float) -> str:
        limits = self._limits(time_limit=time_limit, memory_mb=256)
        if mode == "run" and self._inside != "run":
            return self._as_candidate(program, limits)
        if mode == "run":
            run = self._box.run(program, limits=limits)
            return run.stdout + run.stderr
        if mode == "calls":
            verdict = self._box.check_calls(program, [("answer", [], 0)], limits=limits)
        else:
            verdict = self._box.check_stdio(program, [("", "0.5\n")], limits=limits)
        return _verdict_text(verdict)

    def _as_candidate(self, program: str, limits: Any) -> str:
        """A candidate's way out is what it answers."""
        program += "\ndef answer():\n    return LEAKED\n"
        if self._inside == "calls":
            return _verdict_text(self._box.check_calls(program, [("answer", [], 0)], limits=limits))
        tests = "def check(candidate):\n    for _ in range(1):\n        assert candidate() == 0, candidate()"
        return _verdict_text(self._box.check(program, tests, entry_point="answer", limits=limits))

    def fake(self, program: str, task: CodingTask, time_limit: float) -> tuple[str, str]:
        limits = self._limits(time_limit=time_limit)
        if task.mode == "calls":
            verdict = self._box.check_calls(program, list(task.cases), limits=limits)
        elif task.mode == "stdio":
            verdict = self._box.check_stdio(program, list(task.cases), limits=limits)
        else:
            verdict = self._box.check(
                program, task.tests, entry_point=task.entry_point, limits=limits
            )
        return verdict.status, verdict.isolation


def _verdict_text(verdict: Any) -> str:
    return "".join(case.got + case.error for case in verdict.cases) + verdict.error


def is_rival(column: str) -> bool:
    """Whether a column is another tool's."""
    return ":" in column


def make_judge(column: str) -> Judge:
    """The judge of a column: "L3", "L3+processes", "L2+calls", "module:Class"."""
    if is_rival(column):
        module, _, name = column.partition(":")
        return getattr(importlib.import_module(module), name)()
    level, *rest = column[1:].split("+")
    inside = next((word for word in rest if word != "processes"), "run")
    return SandboxColumn(int(level), processes="processes" in rest, inside=inside)


def check_controls(judge: Judge) -> tuple[list[str], dict[str, str]]:
    """What a judge gets wrong about honest programs, and how it isolates each task."""
    wrong: list[str] = []
    isolations: dict[str, str] = {}
    for task in TASKS.values():
        try:
            right, isolations[task.name] = judge.fake(task.right, task, 5.0)
            other = judge.fake(task.wrong, task, 5.0)[0]
        except Unavailable:
            continue
        if right != "passed":
            wrong.append(f"{task.name}: a right solution is judged {right}")
        if other != "failed":
            wrong.append(f"{task.name}: a wrong solution is judged {other}")
    return wrong, isolations
