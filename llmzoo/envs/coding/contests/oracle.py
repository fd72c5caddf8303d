"""Scripted coders and testers: experts, and amateurs who make mistakes."""

from __future__ import annotations

import random

from llmzoo.envs.coding.contests import targets, trials
from llmzoo.envs.coding.contests.scoring import write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.errors import NoSolutionError
from llmzoo.sandbox.results import Limits

# a slip whose text is not in the program changes nothing
_SLIPS = (
    ("+ 1", "+ 2"),
    ("- 1", ""),
    ("range(1, ", "range("),
    ("<=", "<"),
    (" < ", " <= "),
    ("min(", "max("),
    ("print(", "print('Answer:', "),
    ("return ", "return None and "),
    ("input()", "int(input())"),
    (":\n", "\n"),
)


def coder(problem: Problem, limits: Limits) -> str:
    """A known solution that passes every test."""
    return f"```python\n{_known(problem, limits).source.strip()}\n```"


def tester(problem: Problem, limits: Limits, most: int) -> str:
    """At most ``most`` tests that catch as many wrong programs as possible."""
    goal = targets.targets(problem, _known(problem, limits), limits, most)
    return write_tests(goal.tests, problem)


def sloppy_coder(problem: Problem, rng: random.Random) -> str:
    """A solution with a slip now and then: off by one, a crash, a wrong format, a half answer."""
    if not problem.solutions:
        return f"```python\nprint({problem.public[0].output if problem.public else 0!r})\n```"
    solution = problem.solutions[0].strip()
    kind = rng.randrange(4)
    if kind == 0:
        before, after = rng.choice([slip for slip in _SLIPS if slip[0] in solution] or _SLIPS)
        solution = solution.replace(before, after, 1)
    elif kind == 1:
        solution = f"{solution}\nraise ValueError('not finished')"
    elif kind == 2:
        return f"I would solve it like this:\n\n{solution[: len(solution) // 2]}"
    return f"Here is my program.\n\n```python\n{solution}\n```"


def sloppy_tester(problem: Problem, rng: random.Random, most: int) -> str:
    """Some tests, a few of them with wrong outputs, copied from the problem, or never finished."""
    chosen = rng.sample(problem.hidden, min(rng.randint(1, most), len(problem.hidden)))
    wrong = [rng.choice(problem.hidden).output if rng.random() < 0.3 else t.output for t in chosen]
    tests = tuple(Test(t.input, output) for t, output in zip(chosen, wrong, strict=True))
    kind = rng.randrange(4)
    if kind == 0 and problem.public:
        tests = problem.public
    if kind == 1:
        return "\n\n".join(f"Input:\n{test.input}\nOutput:\n{test.output}" for test in tests)
    written = write_tests(tests, problem)
    return written[: len(written) // 2] if kind == 2 else f"My tests:\n\n{written}"


def _known(problem: Problem, limits: Limits) -> trials.Known:
    known = trials.reference(problem, limits)
    if known is None:
        raise NoSolutionError("this problem has no known solution that passes its tests")
    return known
