"""Which mutations break which programs: makes ``mutants.json``, to be run when programs change.

    python -m llmzoo.envs.coding.bug_fix.survey

Every mutant is run in the sandbox. Kept are those that end on every test, and fail at least one
public and one hidden one: of each operator up to three in a program, and up to eight pairs of them.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.bug_fix.tasks import Program, programs
from llmzoo.envs.coding.operators import OPERATORS
from llmzoo.sandbox.results import Limits, Verdict

SINGLES = 3
DOUBLES = 8
LIMITS = Limits(wall_s=2.0, cpu_s=2.0, memory_mb=512)

Judge = Callable[..., Verdict]


def survey(judge: Judge = judging.check_calls) -> dict[str, list[list[str]]]:
    """The mutations, alone and in pairs, that break each program."""
    return {name: mutants(program, judge) for name, program in sorted(programs().items())}


def breaks(program: Program, broken: str, judge: Judge = judging.check_calls) -> bool:
    """Whether ``broken`` ends on every test and fails a public and a hidden one."""
    public, hidden = program.calls()
    verdict = judge(broken, [*public, *hidden], limits=LIMITS)
    passed = [case.passed for case in verdict.cases]
    # a status other than these speaks of a limit, or of a program that did not even load
    ended = verdict.status in ("failed", "passed")
    return ended and not all(passed[: len(public)]) and not all(passed[len(public) :])


def mutants(program: Program, judge: Judge = judging.check_calls) -> list[list[str]]:
    """The mutations, alone and in pairs, that break a program; the same for the same program."""
    rng = random.Random(program.name)
    seen = {program.source}

    def kept(candidates: Iterator[list[str]], most: int) -> list[list[str]]:
        found: list[list[str]] = []
        for names in candidates:
            broken = _mutated(program.source, names)
            if broken and broken not in seen and breaks(program, broken, judge):
                seen.add(broken)
                found.append(names)
            if len(found) == most:
                break
        return found

    names = list(mutations.changes(program.source))
    singles: list[list[str]] = []
    for operator in OPERATORS:
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


def main() -> None:
    found = survey()
    path = Path(__file__).with_name("mutants.json")
    rows = [f'"{name}": {json.dumps(mutants)}' for name, mutants in found.items()]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{sum(map(len, found.values()))} mutants of {len(found)} programs: {path}")


if __name__ == "__main__":
    main()
