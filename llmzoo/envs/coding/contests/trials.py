"""Runs programs on tests in the sandbox: the coder's, and solutions that are said to be right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from llmzoo.envs.coding import judging, programs
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import CaseResult

# imports that solutions to function problems expect
_PRELUDE = """
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from typing import *
import bisect, collections, functools, heapq, itertools, math, random, re, string, sys
"""
# the function, or the method of a class Solution, with tuples made lists as JSON has them
_CALL = """
def _judged(*arguments):
    def plain(value):
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
    return plain({target}(*arguments))
"""
WRONG = ("wrong output", "wrong value")  # errors of a program that ran to its end


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of a program on some tests. ``ran``: it neither crashed nor reached a limit on any.
    ``timed_out``: it ran out of time on one."""

    results: tuple[CaseResult, ...]
    ran: bool
    timed_out: bool = False

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def share(self) -> float:
        return self.passed / len(self.results) if self.results else 0.0


def extract_source(text: str, problem: Problem) -> str:
    """The program in an answer, as it is shown to its author; raises :class:`NoProgram`."""
    if problem.function is None:
        return programs.extract(text)
    return programs.extract(text, (problem.function, "Solution"))


def prepare_program(source: str, problem: Problem) -> str:
    """A program ready to be judged; raises :class:`NoProgram`."""
    if problem.function is None:
        return source
    defined = programs.definitions(source)
    if problem.function in defined:
        target = problem.function
    elif "Solution" in defined:
        target = f"Solution().{problem.function}"
    else:
        raise NoProgram(f"no function {problem.function} is defined in it")
    return programs.merge(_PRELUDE, source, _CALL.format(target=target))


def run_tests(code: str, problem: Problem, tests: tuple[Test, ...], limits: Limits) -> Trial:
    """A program, made by :func:`prepare_program`, on ``tests``. A problem's hidden tests are one job."""
    if not tests:
        return Trial((), True)
    if problem.function is None:
        verdict = judging.check_stdio(code, [(t.input, t.output) for t in tests], limits=limits)
    else:
        calls = [("_judged", tuple(json.loads(t.input)), json.loads(t.output)) for t in tests]
        verdict = judging.check_calls(code, calls, limits=limits)
    ran = all(result.passed or result.error in WRONG for result in verdict.cases)
    timed_out = verdict.status == "timeout" or any(r.error == "timeout" for r in verdict.cases)
    return Trial(verdict.cases, ran and verdict.status in ("passed", "failed"), timed_out)


def crash_reason(trial: Trial) -> str:
    """How a program was stopped that ran to its end on no test; else ""."""
    errors = [result.error for result in trial.results]
    all_broke = errors and not any(error in ("", *WRONG) for error in errors)
    return errors[0] if all_broke else ""


def timed_out_trial(tests: tuple[Test, ...]) -> Trial:
    """The results of a program that ran out of time on an example: failed on all tests, without a run."""
    reason = "not tried, since it used up its time on an example of the problem"
    return Trial(tuple(CaseResult(passed=False, error=reason) for _ in tests), False, True)


@dataclass(frozen=True, slots=True)
class KnownSolution:
    """A known solution: as it is written, and ready to be judged."""

    source: str
    code: str


@lru_cache(maxsize=1024)
def reference_solution(problem: Problem, limits: Limits) -> KnownSolution | None:
    """The first known solution that passes every test; None without one."""
    for solution in problem.solutions:
        try:
            code = prepare_program(solution, problem)
        except NoProgram:
            continue
        tests = tuple(dict.fromkeys(problem.public + problem.hidden))
        if run_tests(code, problem, tests, limits).passed == len(tests):
            return KnownSolution(solution, code)
    return None


def sound_tests(
    tests: tuple[Test, ...], problem: Problem, judges: tuple[KnownSolution, ...], limits: Limits
) -> tuple[Test, ...]:
    """The ``tests`` that every one of the judging programs passes; none without a judge.

    All of them pass the hidden tests. Any other test is one job, so that a program is run on the
    same test once, whoever writes it.
    """
    if not judges:
        return ()
    return tuple(
        test
        for test in tests
        if test in problem.hidden
        or all(run_tests(judge.code, problem, (test,), limits).passed for judge in judges)
    )
