"""Tries the attacks on this machine, and says what holds: one result for each group and level."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from llmzoo.errors import SandboxError
from llmzoo.sandbox.attacks.attack import Attack, Fake
from llmzoo.sandbox.attacks.columns import LEVELS, SandboxColumn, Unavailable, check_controls
from llmzoo.sandbox.attacks.groups import GROUPS
from llmzoo.sandbox.attacks.suite import SUITE, is_failure, run_suite
from llmzoo.sandbox.attacks.tasks import TASKS
from llmzoo.sandbox.box import Sandbox

CONTROLS = "honest programs"  # the group of the programs that must be judged right


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What came of a group of attacks at a level. ``held`` is None if none could be tried."""

    level: int
    group: str
    held: bool | None
    tried: int
    attacks: int
    why: str


def check_sandbox(
    seconds: float, done: Callable[[int], None] = lambda level: None
) -> Iterator[GroupResult]:
    """Try the attacks at each level of this machine for about ``seconds``, from every group in turn.

    The attacks run in namespaces of their own, so that one that succeeds hurts nobody. Where the machine
    gives none, only the fakes are tried: they harm nothing. ``done`` is called when a level is done.
    """
    end = time.monotonic() + seconds
    identity = "root" if os.geteuid() == 0 else "user"
    for left, level in zip(range(len(LEVELS), 0, -1), LEVELS, strict=True):
        share = (end - time.monotonic()) / left
        reason = missing_level(level)
        if reason:
            yield from _unavailable_results(level, list(GROUPS), reason)
        else:
            records = [
                *run_suite(identity, [f"L{level}"], _interleave_names(), os.cpu_count() or 1, share)
            ]
            yield from _results(level, records, share)
        done(level)


def missing_level(level: int) -> str:
    """Why this machine does not offer a level, or ""."""
    try:
        with Sandbox(workers=1, level=level, min_level=1) as box:
            assert box.report.level == level
    except SandboxError as error:
        return str(error).partition(". See docs")[0]
    return ""


def _interleave_names() -> list[str]:
    """The names of all attacks: the first of every group, then the second of every group."""
    rows = zip_longest(*GROUPS.values())
    return [attack.name for row in rows for attack in row if attack is not None]


def _unavailable_results(level: int, groups: list[str], reason: str) -> Iterator[GroupResult]:
    for group in groups:
        yield GroupResult(level, group, None, 0, len(GROUPS[group]), reason)


def _results(level: int, records: list[dict[str, Any]], share: float) -> Iterator[GroupResult]:
    """The results of a level, from the records of the attack runner."""
    reason = next((record["unavailable"] for record in records if "unavailable" in record), "")
    if reason:
        harms = [group for group in GROUPS if group.startswith("harms/")]
        yield from _unavailable_results(level, harms, reason)
        records = list(_fakes_here(level, time.monotonic() + share))
    else:
        harms = []
    wrong = [why for record in records for why in record.get("wrong", ())]
    wrong += [record["why"] for record in records if record.get("attack") == SUITE]
    number = 2 * len(TASKS)
    yield GroupResult(level, CONTROLS, not wrong, number, number, "; ".join(wrong))
    for group, attacks in GROUPS.items():
        if group not in harms:
            yield _group(level, group, attacks, records)


def _group(
    level: int, group: str, attacks: tuple[Attack, ...], records: list[dict[str, Any]]
) -> GroupResult:
    names = {attack.name for attack in attacks}
    mine = [record for record in records if record.get("attack") in names]
    tried = [record for record in mine if record["outcome"] != "not run"]
    failed = [record for record in tried if is_failure(record)]
    if not tried:
        why = mine[0]["why"] if mine else "the suite ended early"
        return GroupResult(level, group, None, 0, len(attacks), why)
    why = "; ".join(f"{record['attack']}: {_last_line(record['why'])}" for record in failed)
    return GroupResult(level, group, not failed, len(tried), len(attacks), why)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _fakes_here(level: int, deadline: float) -> Iterator[dict[str, Any]]:
    """The outcome of the fakes without isolation, as records like those of the attack runner."""
    column = SandboxColumn(level)
    wrong, _ = check_controls(column)
    yield {"wrong": wrong}
    fakes = [attack for attacks in GROUPS.values() for attack in attacks]
    for fake in fakes:
        if not isinstance(fake, Fake):
            continue
        record: dict[str, Any] = {"attack": fake.name, "outcome": "not run", "why": "no time left"}
        if time.monotonic() < deadline:
            record |= _fake(column, fake)
        yield record


def _fake(column: SandboxColumn, fake: Fake) -> dict[str, str]:
    remarks = []
    for task in fake.tasks:
        try:
            status, isolation = column.fake(fake.program, TASKS[task], fake.time_limit)
        except Unavailable:
            continue
        if status == "passed":
            return {"outcome": "succeeded", "why": f"passed as {task} ({isolation})"}
        remarks.append(f"{task}: {status}")
    return {"outcome": "stopped" if remarks else "not run", "why": ", ".join(remarks)}
