"""Wrong programs for a tester to catch, and tests that catch them.

Wrong programs come with the problem or are small changes of a right one. Only those
count that pass every example of the problem, so copying an example catches none of them. If there is
no such program, those count that the fewest tests catch.

Running all changes takes a second or two per problem. For the shipped problems
``scripts/samples/build.py --survey`` has done so: ``wrong.jsonl`` names the changes that count and the
tests that catch each.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from llmzoo.envs import sources
from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.contests import trials
from llmzoo.envs.coding.contests.scoring import NoTests, input_key, parse_tests, write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.coding.contests.trials import KnownSolution, Trial
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.envs.tasks import content_id
from llmzoo.sandbox.limits import Limits

MAX_WRONG = 6  # wrong programs of a problem that count
MAX_MUTATIONS = 24  # mutations of a right program that are tried
MAX_COMPARED = 8  # of them that are run on every test of the pool
MAX_POOL = 6  # tests in the pool
_VARIANTS = 40  # changed examples that are tried until enough of them can be used
_WANTED_VARIANTS = 3
_QUICK_S = 1.0  # time limit of a wrong program on a test; running out of time does not catch it

Catches = Mapping[str, tuple[Test, ...]]  # the tests of the pool that catch each wrong program


@dataclass(frozen=True, slots=True)
class Targets:
    """``pool``: tests that a tester could write. ``wrong``: programs, ready to be judged, with the
    tests of the pool that catch them, the hardest first. ``tests``: chosen tests, which together
    catch ``most`` of them. ``usual``: the number that a single test catches on average.
    """

    pool: tuple[Test, ...]
    wrong: Catches = field(default_factory=dict)
    tests: tuple[Test, ...] = ()
    most: int = 0
    usual: float = 0.0


def catch_score(
    tests: tuple[Test, ...], known: KnownSolution, problem: Problem, limits: Limits, most: int
) -> float:
    """How many wrong programs right tests catch, on a scale from 0 (as many as a single test on average) to
    1 (as many as :attr:`Targets.tests`). 1 if no wrong program is known."""
    goal = find_targets(problem, known, limits, most)
    if not goal.wrong:
        return 1.0
    quick = _with_short_limit(limits)

    def catch(code: str, test: Test) -> bool:
        if test in goal.pool:
            return test in goal.wrong[code]
        return catches(test, code, problem, quick)

    count = sum(any(catch(code, test) for test in tests) for code in goal.wrong)
    # where every test catches all that can be caught, no test is better than another
    usual = goal.usual if goal.usual < goal.most else 0.0
    return min(1.0, max(0.0, (count - usual) / (goal.most - usual)))


def catches(test: Test, code: str, problem: Problem, limits: Limits) -> bool:
    """Whether a program ends on a test, and not as it should. One test is one job: the same test is
    tried on the same program once, whoever writes it."""
    trial = trials.run_tests(code, problem, (test,), limits)
    return not trial.passed and not trial.timed_out


@lru_cache(maxsize=1024)
def find_targets(problem: Problem, known: KnownSolution, limits: Limits, most: int) -> Targets:
    """What to catch in a problem of which ``known`` is a right program, with ``most`` tests."""
    pool = test_pool(problem, known, limits)
    wrong = _load_shipped(problem, known, pool)
    if wrong is None or limits.time_limit < _QUICK_S:
        wrong = survey(problem, known, pool, limits)
    if not wrong:
        return Targets(pool, tests=pool[:most])
    tests = _greedy_cover(wrong, most)
    most_caught = sum(any(test in tests for test in catching) for catching in wrong.values())
    usual = sum(map(len, wrong.values())) / len(pool)
    return Targets(pool, wrong, tests, most_caught, usual)


def survey(
    problem: Problem, known: KnownSolution, pool: tuple[Test, ...], limits: Limits
) -> Catches:
    """The wrong programs that count, the hardest first."""
    quick = _with_short_limit(limits)
    passing: list[str] = []
    others: list[str] = []
    for code in _candidates(problem, known):
        shown = _run_until_failure(code, problem, problem.public, quick)
        if not any(trial.timed_out for trial in shown):
            (passing if all(trial.passed for trial in shown) else others).append(code)
        if len(passing) == MAX_COMPARED:
            break
    for codes in (passing, others[:MAX_COMPARED]):
        by = {code: _catching_tests(code, pool, problem, quick) for code in codes}
        hardest = sorted((code for code in codes if by[code]), key=lambda code: len(by[code]))
        if hardest:
            return {code: by[code] for code in hardest[:MAX_WRONG]}
    return {}


def survey_key(problem: Problem, known: KnownSolution, pool: tuple[Test, ...]) -> str:
    """What the outcome of a survey depends on, as a hash."""
    return content_id(repr((known.source, problem.function, problem.public, pool)))


@cache
def _surveys() -> Mapping[str, Mapping[str, list[int]]]:
    """By key: the names of mutations that count, each with the numbers of the tests that catch it."""
    records = sources.read_shipped_records(Path(__file__).with_name("wrong.jsonl"))
    return {record["key"]: record["caught_by"] for record in records}


def _load_shipped(problem: Problem, known: KnownSolution, pool: tuple[Test, ...]) -> Catches | None:
    """The survey of a shipped problem; None for any other."""
    surveyed = _surveys().get(survey_key(problem, known, pool))
    if surveyed is None or problem.wrong:
        return None
    return {
        trials.prepare_program(mutations.mutate(known.source, [name]), problem): tuple(
            pool[number] for number in numbers
        )
        for name, numbers in surveyed.items()
    }


def _run_until_failure(
    code: str, problem: Problem, tests: tuple[Test, ...], limits: Limits
) -> list[Trial]:
    trials_so_far: list[Trial] = []
    for test in tests:
        trials_so_far.append(trials.run_tests(code, problem, (test,), limits))
        if not trials_so_far[-1].passed:
            break
    return trials_so_far


def _catching_tests(
    code: str, pool: tuple[Test, ...], problem: Problem, limits: Limits
) -> tuple[Test, ...]:
    """The tests that catch a program; none for one that uses up its time on a test."""
    catching = []
    for test in pool:
        trial = trials.run_tests(code, problem, (test,), limits)
        if trial.timed_out:
            return ()
        if not trial.passed:
            catching.append(test)
    return tuple(catching)


def _greedy_cover(wrong: Catches, most: int) -> tuple[Test, ...]:
    """Tests that catch many: repeatedly the one that catches most of what is left."""
    chosen: list[Test] = []
    left = dict(wrong)
    while left and len(chosen) < most:
        listed = [test for catching in left.values() for test in catching]
        chosen.append(max(listed, key=listed.count))
        left = {code: tests for code, tests in left.items() if chosen[-1] not in tests}
    return tuple(chosen)


def _candidates(problem: Problem, known: KnownSolution) -> Iterator[str]:
    """Programs that may be wrong, each once."""
    seen = {known.code}
    for source in problem.wrong or _make_mutants(known.source):
        try:
            code = trials.prepare_program(source, problem)
        except NoProgram:
            continue
        if code not in seen:
            seen.add(code)
            yield code


def select_mutations(source: str) -> list[str]:
    """The names of the mutations of a program that are tried, in their order."""
    try:
        names = list(mutations.changes(source))
    except (RecursionError, MemoryError):
        return []
    random.Random(source).shuffle(names)
    return names[:MAX_MUTATIONS]


def _make_mutants(source: str) -> Iterator[str]:
    for name in select_mutations(source):
        try:
            yield mutations.mutate(source, [name])
        except (ValueError, RecursionError, MemoryError):  # a block would be empty, or a deep tree
            continue


def test_pool(problem: Problem, known: KnownSolution, limits: Limits) -> tuple[Test, ...]:
    """Hidden tests that a tester could write; where there is none, examples with a number changed
    and the output of a known solution."""
    by_length = sorted(problem.hidden, key=lambda test: len(test.input))
    fit = [test for test in by_length if _is_valid_test(test, problem)]
    return tuple(fit[:MAX_POOL]) or _variants(problem, known.code, limits)


def _is_valid_test(test: Test, problem: Problem) -> bool:
    try:
        return bool(parse_tests(write_tests((test,), problem), problem, 1))
    except NoTests:
        return False


def _variants(problem: Problem, code: str, limits: Limits) -> tuple[Test, ...]:
    """Public or hidden inputs with one whole number changed, on which a known solution runs."""
    if problem.function is not None:
        code += "\nimport json, sys\nprint(json.dumps(_judged(*json.loads(sys.stdin.read()))))\n"
    rng = random.Random(problem.statement)
    variants: dict[tuple[str, ...], Test] = {}
    for _ in range(_VARIANTS):
        given = rng.choice(problem.public + problem.hidden).input
        numbers = [*re.finditer(r"\d+", given)]
        if not numbers:
            break
        number = rng.choice(numbers)
        changed = str(int(number[0]) + rng.choice((-1, 1, 2)))
        given = given[: number.start()] + changed + given[number.end() :]
        run = judging.run_program(code, given, limits=limits)
        output = run.stdout if problem.function is None else run.stdout.strip()
        if run.status == "passed" and output.strip() and _is_json(output, problem):
            test = Test(given, output)
            if _is_valid_test(test, problem):
                variants[input_key(given, problem)] = test
        if len(variants) == _WANTED_VARIANTS:
            break
    return tuple(variants.values())


def _is_json(output: str, problem: Problem) -> bool:
    if problem.function is None:
        return True
    try:
        json.loads(output)
    except ValueError:
        return False
    return True


def _with_short_limit(limits: Limits) -> Limits:
    return Limits(time_limit=min(limits.time_limit, _QUICK_S))
