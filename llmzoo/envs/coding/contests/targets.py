"""Wrong programs for a tester to catch, and tests that catch them.

Wrong programs come with the problem, or are small changes of a right one. Those count that pass
every example of the problem: the examples, however they are written, catch none of them. Where
there is no such program, those count that the fewest tests catch.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.contests import trials
from llmzoo.envs.coding.contests.scoring import NoTests, key, parse_tests, write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.coding.contests.trials import Known, Trial
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.sandbox.results import Limits

MOST = 6  # wrong programs of a problem
TRIED = 24  # changes of a right program that are tried
COMPARED = 8  # of them that are held against every test of the pool
POOL = 6  # tests
_VARIANTS = 40  # changed examples that are tried until enough of them can be used
_WANTED_VARIANTS = 3
_QUICK_S = 1.0  # for a wrong program on a test; none is caught by the time that it takes


@dataclass(frozen=True, slots=True)
class Targets:
    """``wrong``: programs, ready to be judged. ``tests``: a choice of tests that catches ``most`` of
    them, as many as could be found. ``usual``: how many a single test catches on average."""

    wrong: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    most: int = 0
    usual: float = 0.0


def caught(
    tests: tuple[Test, ...], known: Known, problem: Problem, limits: Limits, most: int
) -> float:
    """What right tests catch beyond a usual test, as a share of what ``most`` tests can; 1 for every
    test where no wrong program is known."""
    found = targets(problem, known, limits, most)
    if not found.wrong:
        return 1.0
    quick = _quick(limits)
    count = sum(any(catches(test, code, problem, quick) for test in tests) for code in found.wrong)
    # where every test catches all that can be caught, no test is better than another
    usual = found.usual if found.usual < found.most else 0.0
    return min(1.0, max(0.0, (count - usual) / (found.most - usual)))


def catches(test: Test, code: str, problem: Problem, limits: Limits) -> bool:
    """Whether a program ends on a test, and not as it should. One test is one job: the same test is
    tried on the same program once, whoever writes it."""
    trial = trials.try_out(code, problem, (test,), limits)
    return not trial.passed and not trial.timed_out


@lru_cache(maxsize=1024)
def targets(problem: Problem, known: Known, limits: Limits, most: int) -> Targets:
    """What to catch in a problem of which ``known`` is a right program, with ``most`` tests."""
    quick = _quick(limits)
    pool = _pool(problem, known, limits)
    passing: list[str] = []
    others: list[str] = []
    for code in _candidates(problem, known):
        seen = _until_one_fails(code, problem, problem.public, quick)
        if not any(trial.timed_out for trial in seen):
            (passing if all(trial.passed for trial in seen) else others).append(code)
        if len(passing) == COMPARED:
            break
    for codes in (passing, others[:COMPARED]):
        by = {code: _caught_by(code, pool, problem, quick) for code in codes}
        hardest = sorted((code for code in codes if by[code]), key=lambda code: len(by[code]))
        if hardest:
            wrong = tuple(hardest[:MOST])
            tests = _cover({code: by[code] for code in wrong}, most)
            most_caught = sum(any(test in tests for test in by[code]) for code in wrong)
            usual = sum(len(by[code]) for code in wrong) / len(pool)
            return Targets(wrong, tests, most_caught, usual)
    return Targets(tests=pool[:most])


def _until_one_fails(
    code: str, problem: Problem, tests: tuple[Test, ...], limits: Limits
) -> list[Trial]:
    trials_so_far: list[Trial] = []
    for test in tests:
        trials_so_far.append(trials.try_out(code, problem, (test,), limits))
        if not trials_so_far[-1].passed:
            break
    return trials_so_far


def _caught_by(code: str, pool: tuple[Test, ...], problem: Problem, limits: Limits) -> list[Test]:
    """The tests that catch a program; none for one that uses up its time on a test."""
    found = []
    for test in pool:
        trial = trials.try_out(code, problem, (test,), limits)
        if trial.timed_out:
            return []
        if not trial.passed:
            found.append(test)
    return found


def _cover(by: dict[str, list[Test]], most: int) -> tuple[Test, ...]:
    """Tests that catch many: always the one next that catches most of what is left."""
    chosen: list[Test] = []
    left = dict(by)
    while left and len(chosen) < most:
        listed = [test for caught_by in left.values() for test in caught_by]
        chosen.append(max(listed, key=listed.count))
        left = {code: tests for code, tests in left.items() if chosen[-1] not in tests}
    return tuple(chosen)


def _candidates(problem: Problem, known: Known) -> Iterator[str]:
    """Programs that may be wrong, each once."""
    seen = {known.code}
    for source in problem.wrong or _changed(known.source):
        try:
            code = trials.program(source, problem)
        except NoProgram:
            continue
        if code not in seen:
            seen.add(code)
            yield code


def _changed(source: str) -> Iterator[str]:
    """Small changes of a program, by its syntax tree."""
    try:
        names = list(mutations.changes(source))
    except (RecursionError, MemoryError):
        return
    random.Random(source).shuffle(names)
    for name in names[:TRIED]:
        try:
            yield mutations.mutate(source, [name])
        except (ValueError, RecursionError, MemoryError):  # a block would be empty, or a deep tree
            continue


def _pool(problem: Problem, known: Known, limits: Limits) -> tuple[Test, ...]:
    """Hidden tests that a tester could write; where there is none, examples with a number changed
    and the output of a known solution."""
    by_length = sorted(problem.hidden, key=lambda test: len(test.input))
    fit = [test for test in by_length if _counts(test, problem)]
    return tuple(fit[:POOL]) or _variants(problem, known.code, limits)


def _counts(test: Test, problem: Problem) -> bool:
    try:
        return bool(parse_tests(write_tests((test,), problem), problem, 1))
    except NoTests:
        return False


def _variants(problem: Problem, code: str, limits: Limits) -> tuple[Test, ...]:
    """Public or hidden inputs with one whole number changed, on which a known solution runs."""
    if problem.function is not None:
        code += "\nimport json, sys\nprint(json.dumps(_judged(*json.loads(sys.stdin.read()))))\n"
    rng = random.Random(problem.statement)
    found: dict[tuple[str, ...], Test] = {}
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
        if len(found) == _WANTED_VARIANTS:
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


def _quick(limits: Limits) -> Limits:
    return Limits(time_limit=min(limits.time_limit, _QUICK_S))
