"""Runs many lines of play at once, so that whatever waits for the same policy is asked together.

All lines advance until each waits for a policy; then every policy answers its whole batch in one
call. Environments that say ``metadata["slow_step"]`` are stepped by threads, side by side, and
beside sampling in two ways:

* ``early``: a line goes on as soon as its own answers are complete, while the same call still
  writes longer ones (an :class:`llmzoo.policies.base.EarlyPolicy`) or another policy its own. This
  costs nothing, and hides the steps of all lines but those whose answers come last.
* ``cohorts``: the lines are divided into parts that take turns at the policies; the others' steps
  go on meanwhile. This hides all steps that take no longer than a call, but there are more calls,
  of fewer rows, and a call has a cost whatever its rows: it pays where steps take longer than that.

Environments that are played elsewhere (:mod:`llmzoo.rollout.places`) are stepped in few calls: all
acts of a cohort that are for one place in one, made beside the other cohorts' sampling.

Nothing depends on which step is ready first: cohorts are fixed, they take turns in a fixed order,
and what happens within a line does too. So each call of a policy gets the same requests for any
number of threads, and the same seeds give the same play to the last bit.

Every request is given its ``noise``: a number made of the name of the line, the branch that asks,
and how often it has asked before. So a line's chance does not depend on the lines beside it, and
other cohorts change answers by rounding at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from threading import Event
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import EarlyPolicy, Policy
from llmzoo.records import Completion
from llmzoo.rollout.clock import Clock
from llmzoo.rollout.crew import Crew
from llmzoo.rollout.lines import Act, Ask, Line, Name, Strand, line_names

__all__ = ["Act", "Ask", "Clock", "Line", "Name", "Stopped", "line_names", "run", "slow_steps"]


class Stopped(Exception):
    """A run was told to stop before its end."""


def run(
    lines: Sequence[Line],
    seats: Mapping[str, Policy],
    *,
    names: Sequence[Name] | None = None,
    early: bool = False,
    cohorts: int = 1,
    workers: int = 8,
    clock: Clock | None = None,
    stop: Event | None = None,
) -> list[Any]:
    """Run all lines to their end; returns their return values, in order.

    ``names``: a name for each line that no other has, by default its index. Lines of the same name
    draw the same answers in any run. ``early``: lines go on in threads as soon as they can.
    ``cohorts``: parts of the lines that take turns at the policies. ``workers``: threads, and so
    steps of slow environments at once. ``clock``: what it took is added to it. ``stop``: once it is
    set :class:`Stopped` is raised in place of the next call of a policy.

    What a line, a policy or a step raises ends the run: steps that have begun are waited for, and
    no others are made.
    """
    clock = Clock() if clock is None else clock
    names = range(len(lines)) if names is None else names
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"two lines are named {twice!r} and would draw the same answers")
    if cohorts < 1 or workers < 1:
        raise ValueError(f"cohorts and workers are at least 1, got {cohorts} and {workers}")
    strands = [Strand(line, name) for line, name in zip(lines, names, strict=True)]
    with Crew(workers, clock, early=early) as crew:
        for strand in strands:
            crew.move(strand)
        turns = deque(strands[first::cohorts] for first in range(cohorts))
        for cohort in turns:
            crew.gather(cohort)
        while turns:
            cohort = turns.popleft()
            with clock.waiting():
                crew.wait(cohort)
            cohort = [strand for strand in cohort if strand.asks]  # the others have ended
            if stop is not None and stop.is_set():
                raise Stopped
            if cohort:
                _ask(cohort, seats, crew, clock, early=early)
                crew.gather(cohort)
                turns.append(cohort)
    return [strand.result for strand in strands]


def slow_steps(envs: Iterable[AECEnv]) -> bool:
    """Whether an environment says that its steps are worth a thread."""
    return any(env.metadata.get("slow_step", False) for env in envs)


Waiting = tuple[Strand, int, Ask]  # a strand, and which of its asks this is


def _ask(
    cohort: Sequence[Strand], seats: Mapping[str, Policy], crew: Crew, clock: Clock, *, early: bool
) -> None:
    """Let every policy answer what the strands of a cohort ask of it, and the strands go on."""
    asks = [(strand, slot, ask) for strand in cohort for slot, ask in enumerate(strand.asks)]
    batches: dict[tuple[int, int, bool], list[Waiting]] = {}
    for strand, slot, ask in asks:
        key = (id(seats[ask.request.agent]), ask.k, ask.greedy)
        batches.setdefault(key, []).append((strand, slot, ask))
    for batch in batches.values():
        _call(seats[batch[0][2].request.agent], batch, crew, clock, early=early)


def _call(
    policy: Policy, batch: Sequence[Waiting], crew: Crew, clock: Clock, *, early: bool
) -> None:
    """One call of a policy; what it answers is handed out."""
    requests = [ask.request for _, _, ask in batch]
    k, greedy = batch[0][2].k, batch[0][2].greedy
    handed_out: set[int] = set()

    def answered(index: int, answers: list[Completion]) -> None:
        handed_out.add(index)
        strand, slot, _ = batch[index]
        if strand.answered(slot, answers):
            crew.move(strand)

    with clock.sampling():
        if early and isinstance(policy, EarlyPolicy):
            found = policy.respond_early(requests, k, greedy=greedy, answered=answered)
        else:
            found = policy.respond(requests, k, greedy=greedy)
    clock.answers += sum(map(len, found))
    for index, (_, answers) in enumerate(zip(batch, found, strict=True)):
        if index not in handed_out:
            answered(index, answers)
