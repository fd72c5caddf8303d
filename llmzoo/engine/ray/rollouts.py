"""The rollout workers as the run sees them: who is free, who has died, and what is to be played."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ray

from llmzoo.engine.ray.calls import MOST_DEATHS, Calls, Lost, answer
from llmzoo.engine.ray.reports import Report, opened
from llmzoo.errors import WorkerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Weights that play: after how many updates, and of each update worker its own."""

    number: int
    references: tuple[Any, ...]  # in the object store
    kept: tuple[Any, ...] = ()  # views of them: this machine then has a copy of its own


@dataclass(slots=True, eq=False, kw_only=True)
class Order:
    """Lines to be played, in shares; and of each share that has been, its report and its batch.

    ``told``: what every share's worker is told alike. ``ended``: done once all have been played.
    """

    seeds: Sequence[int]
    names: Sequence[Any]
    shares: Sequence[range]
    version: Version
    told: dict[str, Any]
    ended: Callable[[], None]
    found: dict[int, tuple[Report, bytes]] = field(default_factory=dict)
    started: float = 0.0  # when the first share was handed out
    wanted: bool = True


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    handle: Any
    pid: int | None = None

    def __str__(self) -> str:
        said = "" if self.pid is None else f" (process {self.pid})"
        return f"rollout worker {self.number}{said}"


class Rollouts:
    """Hands out shares in their order to whoever is free, and hands out again what was lost.

    A share is played by its name, so who plays it, and how often it had to be begun, changes
    nothing; and of each share one answer counts.
    """

    def __init__(
        self,
        calls: Calls,
        make: Callable[[int], Any],
        told: Sequence[Any],
        *,
        count: int,
        seconds: float,
    ):
        self._calls, self._make, self._told, self._seconds = calls, make, told, seconds
        self._todo: deque[tuple[Order, int]] = deque()
        self._orders: list[Order] = []  # of which not all has been played
        self._free: list[_Worker] = []
        self._deaths: Counter[Any] = Counter()
        self._count = count
        self.workers: dict[int, _Worker] = {}
        for number in range(count):
            self._hire(number)

    @property
    def started(self) -> bool:
        """Whether all of them are there."""
        return sum(worker.pid is not None for worker in self.workers.values()) == self._count

    def add(self, order: Order) -> None:
        self._orders.append(order)
        self._todo.extend((order, share) for share in range(len(order.shares)))
        self._hand_out()

    def forget(self) -> None:
        """Nothing that was asked for is wanted any more."""
        self._todo.clear()
        for order in self._orders:
            order.wanted = False
        self._orders.clear()

    def close(self) -> None:
        """End all of them."""
        for worker in self.workers.values():
            ray.kill(worker.handle)

    def _hire(self, number: int) -> None:
        worker = self.workers[number] = _Worker(number, self._make(number))
        reference = worker.handle.start.remote(*self._told)
        self._calls.add(
            reference,
            partial(self._hired, worker, reference),
            seconds=self._seconds,
            late=partial(self._too_late, worker),
        )

    def _hired(self, worker: _Worker, reference: Any) -> None:
        try:
            (text,) = answer([reference])
        except Lost as lost:
            self._replace(worker, ("start", worker.number), "its start", lost)
            return
        worker.pid = opened(text, str(worker))["pid"]
        del self._deaths["start", worker.number]
        self._free.append(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._todo and self._free:
            order, share = self._todo.popleft()
            order.started = order.started or time.monotonic()
            worker = self._free.pop(0)
            lines = order.shares[share]
            told = {
                **order.told,
                "seeds": [order.seeds[i] for i in lines],
                "names": [order.names[i] for i in lines],
                "before": list(order.seeds[: lines.start]),
                "version": order.version.number,
            }
            references = worker.handle.play.options(num_returns=2).remote(
                json.dumps(told), *order.version.references
            )
            self._calls.add(references[0], partial(self._played, worker, order, share, references))

    def _played(self, worker: _Worker, order: Order, share: int, references: list[Any]) -> None:
        try:
            text, data = answer(references)
        except Lost as lost:
            if order.wanted:
                self._todo.appendleft((order, share))
            self._replace(worker, (id(order), share), f"share {share} of a batch", lost)
            return
        self._free.append(worker)
        if not order.wanted:
            self._hand_out()
            return
        order.found[share] = (opened(text, str(worker)), data)
        del self._deaths[id(order), share]
        if len(order.found) == len(order.shares):
            self._orders.remove(order)
            order.ended()
        self._hand_out()

    def _replace(self, worker: _Worker, work: Any, called: str, lost: Lost) -> None:
        ray.kill(worker.handle)
        self._deaths[work] += 1
        if self._deaths[work] >= MOST_DEATHS:
            raise WorkerError(
                f"{MOST_DEATHS} rollout workers have died at {called}, the last was {worker}: {lost}"
            ) from lost
        self._hire(worker.number)
        self._hand_out()

    def _too_late(self, worker: _Worker) -> None:
        raise WorkerError(
            f"{worker} was not ready after {self._seconds:.0f} s: raise start_seconds if it loads "
            "large models; if it took the place of one that died, the cluster may have no room left"
        )
