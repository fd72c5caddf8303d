"""Threads that run an environment's code under a time limit.

Python cannot stop a thread. A job that exceeds its limit is abandoned: its thread runs on, its
result is ignored, and a new thread takes the remaining jobs.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

_LOST = object()
_LOOK_S = 0.25  # how often a caller checks deadlines

Job = TypeVar("Job")
Result = TypeVar("Result")


class TooManyLost(Exception):
    """Too many abandoned jobs are still running, so no more are started."""


class Lanes:
    """Runs jobs in threads. ``max_lost``: abandoned jobs that may still be running."""

    def __init__(self, max_lost: int = 32):
        self._max_lost = max_lost
        self._lost = 0
        self._lock = threading.Lock()

    @property
    def lost(self) -> int:
        """Abandoned jobs that still run."""
        return self._lost

    def run(
        self,
        jobs: Iterable[Job],
        work: Callable[[Job], Result],
        *,
        limit_s: Callable[[Job], float],
        gave_up: Callable[[Job], Result],
        lanes: int = 1,
    ) -> dict[Job, Result]:
        """The result of ``work`` for each job; ``work`` must not raise.

        Starts jobs in order, up to ``lanes`` at a time. A job that exceeds its ``limit_s`` in
        seconds gets the result of ``gave_up``, which runs in the caller's thread. Raises
        :class:`TooManyLost`.
        """
        with self._lock:
            if self._lost >= self._max_lost:
                raise TooManyLost(f"{self._lost} earlier steps took too long and are still running")
        return _LaneRun(self, deque(jobs), work, limit_s, gave_up).finish(lanes)

    def note_lost(self, count: int) -> None:
        with self._lock:
            self._lost += count


class _Lane:
    """A thread's job and deadline: ``at``, one tuple, so that both are read at once."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: tuple[float, Any] = (math.inf, None)  # no job yet


class _LaneRun(Generic[Job, Result]):
    """One call of :meth:`Lanes.run`.

    ``dict.setdefault`` is atomic, so each job keeps its first result: its own, or that of
    abandoning it. A lock per job would cost more than many jobs.
    """

    def __init__(
        self,
        lanes: Lanes,
        jobs: deque[Job],
        work: Callable[[Job], Result],
        limit_s: Callable[[Job], float],
        gave_up: Callable[[Job], Result],
    ):
        self._all = lanes
        self._jobs = jobs
        self._work = work
        self._limit_s = limit_s
        self._gave_up = gave_up
        self._results: dict[Job, Any] = {}
        self._busy: set[_Lane] = set()
        self._changed = threading.Condition()

    def finish(self, lanes: int) -> dict[Job, Result]:
        for _ in range(min(lanes, len(self._jobs))):
            self._open_lane()
        with self._changed:
            while self._busy:
                end = min(lane.at[0] for lane in self._busy)
                self._changed.wait(min(max(0.001, end - time.monotonic()), _LOOK_S))
                now = time.monotonic()
                for lane in list(self._busy):
                    until, job = lane.at
                    if until <= now and self._results.setdefault(job, _LOST) is _LOST:
                        self._give_up(lane, job)
        return self._results

    def _open_lane(self) -> None:
        lane = _Lane()
        self._busy.add(lane)
        threading.Thread(target=self._drive, args=(lane,), name="llmzoo-lane", daemon=True).start()

    def _drive(self, lane: _Lane) -> None:
        """Run jobs until none is left. An abandoned job changes nothing any more."""
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                break
            lane.at = (time.monotonic() + self._limit_s(job), job)
            result = self._work(job)
            if self._results.setdefault(job, result) is not result:
                self._all.note_lost(-1)
                return
        with self._changed:
            self._busy.discard(lane)
            self._changed.notify_all()

    def _give_up(self, lane: _Lane, job: Job) -> None:
        self._all.note_lost(1)
        self._busy.discard(lane)
        self._results[job] = self._gave_up(job)
        if self._jobs:
            self._open_lane()
