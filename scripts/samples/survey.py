"""What the sandbox says of wrong programs: which mutations break the programs of bug fixing.

``python scripts/samples/build.py --survey`` writes ``mutants.json``, in minutes. Kept are mutants that
end on every test and fail at least one public and one hidden test: of each operator up to three
in a program, and up to eight pairs of them.
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


def main(coding: Path) -> None:
    rows = {name: mutants(program) for name, program in sorted(programs().items())}
    lines = [f'"{name}": {json.dumps(listed)}' for name, listed in rows.items()]
    (coding / "bug_fix" / "mutants.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"bug_fix/mutants.json: {sum(map(len, rows.values()))} mutants")
