"""What the sandbox says of wrong load_programs. ``python scripts/samples/build.py --survey`` writes it.

* ``bug_fix/mutants.json``: the mutations that break the load_programs of bug fixing. Kept are mutants that
  end on every test and fail at least one public and one hidden test: of each operator up to three in
  a program, and up to eight pairs of them.
* ``contests/wrong.jsonl``: the mutations of the known solutions of contest problems that a tester
  should catch, with the tests that catch them (see ``llmzoo/envs/coding/contests/targets.py``).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llmzoo
from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.bug_fix.tasks import Program, load_programs
from llmzoo.envs.coding.contests import targets, trials
from llmzoo.envs.coding.contests.tasks import Problem
from llmzoo.sandbox.limits import DEFAULT_LIMITS, Limits
from llmzoo.sandbox.results import Verdict

SINGLES = 3
DOUBLES = 8
LIMITS = Limits(time_limit=2.0, memory_mb=512)

Judge = Callable[..., Verdict]


def breaks(program: Program, broken: str, judge: Judge = judging.check_calls) -> bool:
    """Whether ``broken`` ends on every test and fails a public and a hidden one."""
    public, hidden = program.calls()
    verdict = judge(broken, [*public, *hidden], limits=LIMITS)
    passed = [case.passed for case in verdict.cases]
    # any other status means that it met a limit or did not load
    ended = verdict.status in ("failed", "passed")
    return ended and not all(passed[: len(public)]) and not all(passed[len(public) :])


def mutants(program: Program) -> list[list[str]]:
    """The mutations, alone and in pairs, that break a program; the same for the same program."""
    rng = random.Random(program.name)
    seen = {program.source}

    def kept(candidates: Iterator[list[str]], most: int) -> list[list[str]]:
        breaking: list[list[str]] = []
        for names in candidates:
            broken = _mutated(program.source, names)
            if broken and broken not in seen and breaks(program, broken):
                seen.add(broken)
                breaking.append(names)
            if len(breaking) == most:
                break
        return breaking

    names = list(mutations.changes(program.source))
    singles: list[list[str]] = []
    for operator in mutations.OPERATORS:
        own = [name for name in names if name.startswith(f"{operator}:")]
        rng.shuffle(own)
        singles += kept(([name] for name in own), SINGLES)
    lines = {name: _lines(program.source, name) for [name] in singles}
    pairs = [
        [a, b]
        for a, b in itertools.combinations(lines, 2)
        if a.partition(":")[0] != b.partition(":")[0] and not lines[a] & lines[b]
    ]
    rng.shuffle(pairs)
    return singles + kept(iter(pairs), DOUBLES)


def _mutated(source: str, names: list[str]) -> str | None:
    try:
        return mutations.mutate(source, names)
    except ValueError:
        return None


def _lines(source: str, name: str) -> frozenset[tuple[str, int]]:
    return mutations.locations(source, mutations.mutate(source, [name]))


def contest_samples() -> list[Problem]:
    """The sample problems of all ids of contests; two ids share some."""
    problems: dict[Problem, None] = {}
    for id in ("contests_v0", "apps_v0", "code_contests_v0", "livecodebench_v0"):
        tasks = llmzoo.make(id, source="sample", split="all").unwrapped.tasks
        problems |= dict.fromkeys(tasks[number] for number in range(tasks.count))
    return list(problems)


def wrong_programs(problem: Problem) -> dict[str, Any]:
    """The record of a problem: by mutation, the numbers of the tests of its pool that catch it."""
    known = trials.reference_solution(problem, DEFAULT_LIMITS)
    assert known is not None, problem.name
    pool = targets.test_pool(problem, known, DEFAULT_LIMITS)
    names = {}
    for name in targets.select_mutations(known.source):
        with contextlib.suppress(ValueError):  # a block would be empty
            code = trials.prepare_program(mutations.mutate(known.source, [name]), problem)
            names.setdefault(code, name)
    surveyed = targets.survey(problem, known, pool, DEFAULT_LIMITS)
    return {
        "key": targets.survey_key(problem, known, pool),
        "caught_by": {
            names[code]: [pool.index(test) for test in catching]
            for code, catching in surveyed.items()
        },
    }


def main(coding: Path) -> None:
    records = {record["key"]: record for record in map(wrong_programs, contest_samples())}
    lines = [json.dumps(record) + "\n" for record in records.values()]
    (coding / "contests" / "wrong.jsonl").write_text("".join(lines))
    print(f"contests/wrong.jsonl: {len(lines)} problems")
    rows = {name: mutants(program) for name, program in sorted(load_programs().items())}
    lines = [f'"{name}": {json.dumps(listed)}' for name, listed in rows.items()]
    (coding / "bug_fix" / "mutants.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"bug_fix/mutants.json: {sum(map(len, rows.values()))} mutants")
