"""Runs many lines of play at once, so that whatever waits for the same policy is asked together.

A line of play is a generator. It yields what it needs and is sent the result:

* :class:`Ask`: k answers of a seat -> a list of completions.
* a list of :class:`Ask` -> a list of those lists (seats that choose at the same time).
* :class:`Act`: answers to step an environment with -> what each agent was paid.
* a list of :class:`Act` -> a list of those (forks of one state).
* a list of generators -> a list of their return values (branches of a tree).

All lines advance until each waits for a policy; then every policy answers its whole batch in one
call. The order of everything is fixed, so the same seeds give the same play. Environments that say
``metadata["slow_step"]`` are stepped by threads, side by side.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy, Request
from llmzoo.records import Completion
from llmzoo.rollout.branching import advance


@dataclass(frozen=True, slots=True)
class Ask:
    """``k`` answers to one request (one greedy answer with ``greedy``)."""

    request: Request
    k: int = 1
    greedy: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """Step ``env``, in place, with the answers of the next deciders."""

    env: AECEnv
    texts: tuple[str, ...]


Line = Generator[Any, Any, Any]


@dataclass(slots=True)
class Clock:
    """What running lines took: the policies' time and answers, and the steps of all :class:`Act`."""

    sampling_seconds: float = 0.0
    answers: int = 0
    steps: int = 0


@dataclass(slots=True)
class _Task:
    line: Line
    parent: _Task | None = None
    slot: int = 0
    results: list[Any] = field(default_factory=list)  # of the operations or branches it waits for
    waiting: int = 0
    single: bool = False  # it yielded one operation, not a list

    def take(self, slot: int, result: Any) -> bool:
        """Note a result; true when it was the last one awaited."""
        self.results[slot] = result
        self.waiting -= 1
        return self.waiting == 0


def run(
    lines: Sequence[Line],
    seats: Mapping[str, Policy],
    *,
    workers: int = 8,
    clock: Clock | None = None,
) -> list[Any]:
    """Run all lines to their end; returns their return values, in order.

    ``clock``: what it took is added to it.
    """
    clock = Clock() if clock is None else clock
    root = _Task(line=_nothing(), results=[None] * len(lines), waiting=len(lines))
    ready: deque[tuple[_Task, Any]] = deque(
        (_Task(line=line, parent=root, slot=slot), None) for slot, line in enumerate(lines)
    )
    asks: list[tuple[_Task, int, Ask]] = []
    acts: list[tuple[_Task, int, Act]] = []
    while root.waiting:
        while ready:
            task, value = ready.popleft()
            try:
                wanted = task.line.send(value)
            except StopIteration as stop:
                assert task.parent is not None
                if task.parent.take(task.slot, stop.value) and task.parent is not root:
                    ready.append((task.parent, task.parent.results))
                continue
            task.single = not isinstance(wanted, list)
            operations = [wanted] if task.single else wanted
            task.results = [None] * len(operations)
            task.waiting = len(operations)
            if not operations:
                ready.append((task, []))
            for slot, operation in enumerate(operations):
                if isinstance(operation, Ask):
                    asks.append((task, slot, operation))
                elif isinstance(operation, Act):
                    acts.append((task, slot, operation))
                else:
                    ready.append((_Task(line=operation, parent=task, slot=slot), None))
        if acts:
            for (task, slot, _), paid in zip(acts, _step(acts, workers), strict=True):
                if task.take(slot, paid):
                    ready.append((task, task.results[0] if task.single else task.results))
            clock.steps += sum(len(act.texts) for _, _, act in acts)
            acts = []
        elif asks:
            asked = time.monotonic()
            responses = _respond(asks, seats)
            clock.sampling_seconds += time.monotonic() - asked
            clock.answers += sum(map(len, responses))
            for (task, slot, _), answers in zip(asks, responses, strict=True):
                if task.take(slot, answers):
                    ready.append((task, task.results[0] if task.single else task.results))
            asks = []
    return root.results


def _step(acts: Sequence[tuple[_Task, int, Act]], workers: int) -> list[dict[str, float]]:
    operations = [act for _, _, act in acts]
    if len(operations) > 1 and operations[0].env.metadata.get("slow_step", False):
        with ThreadPoolExecutor(max_workers=min(workers, len(operations))) as pool:
            return list(pool.map(lambda act: advance(act.env, act.texts), operations))
    return [advance(act.env, act.texts) for act in operations]


def _respond(
    asks: Sequence[tuple[_Task, int, Ask]], seats: Mapping[str, Policy]
) -> list[list[Completion]]:
    answers: list[list[Completion]] = [[] for _ in asks]
    batches: dict[tuple[int, int, bool], list[int]] = {}
    for index, (_, _, ask) in enumerate(asks):
        policy = seats[ask.request.agent]
        batches.setdefault((id(policy), ask.k, ask.greedy), []).append(index)
    for (_, k, greedy), indices in batches.items():
        policy = seats[asks[indices[0]][2].request.agent]
        requests = [asks[index][2].request for index in indices]
        responses = policy.respond(requests, k, greedy=greedy)
        for index, response in zip(indices, responses, strict=True):
            answers[index] = response
    return answers


def _nothing() -> Line:
    yield
