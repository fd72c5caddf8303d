"""Scripted coders and testers: experts, and amateurs who err as people do."""

from __future__ import annotations

import json
import random
import re

from llmzoo.envs.coding import judging
from llmzoo.envs.coding.contests import trials
from llmzoo.envs.coding.contests.scoring import NoTests, key, parse_tests, write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.errors import NoSolutionError
from llmzoo.sandbox.results import Limits

_EXPERT_TESTS = 3
_VARIANTS = 40  # changed examples that are tried until enough of them can be used

# a slip that does not hold in the program leaves it as it is
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
    """Hidden tests; where none is fit to be written, examples with a number changed and the output
    of a known solution."""
    fit: list[Test] = []
    for test in sorted(problem.hidden, key=lambda test: len(test.input)):
        if _counts(test, problem):
            fit.append(test)
        if len(fit) == min(_EXPERT_TESTS, most):
            break
    return write_tests(tuple(fit) or _variants(problem, limits), problem)


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


def _counts(test: Test, problem: Problem) -> bool:
    try:
        return bool(parse_tests(write_tests((test,), problem), problem, 1))
    except NoTests:
        return False


def _variants(problem: Problem, limits: Limits) -> tuple[Test, ...]:
    """Public or hidden inputs with one whole number changed, on which a known solution runs."""
    code = _known(problem, limits).code
    if problem.function is not None:
        code += "\nimport json, sys\nprint(json.dumps(_judged(*json.loads(sys.stdin.read()))))\n"
    rng = random.Random(problem.statement)
    found: dict[str, Test] = {}
    for _ in range(_VARIANTS):
        given = rng.choice(problem.public + problem.hidden).input
        numbers = [*re.finditer(r"\d+", given)]
        if not numbers:
            break
        number = rng.choice(numbers)
        changed = str(int(number[0]) + rng.choice((-1, 1, 2)))
        given = given[: number.start()] + changed + given[number.end() :]
        run = judging.run(code, given, limits=limits)
        output = run.stdout if problem.function is None else run.stdout.strip()
        if run.status == "passed" and output.strip() and _is_json(output, problem):
            test = Test(given, output)
            if _counts(test, problem):
                found[key(given, problem)] = test
        if len(found) == _EXPERT_TESTS:
            break
    return tuple(found.values())


def _is_json(output: str, problem: Problem) -> bool:
    if problem.function is None:
        return True
    try:
        json.loads(output)
    except ValueError:
        return False
    return True
