"""Threads that run an environment's code under a limit of time.

Python cannot stop a thread. A job that takes too long is given up: its thread goes on by itself
until it ends, its result counts for nothing, and the other jobs go on in a new thread.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

_LOST = object()
_LOOK_S = 0.25  # how often a caller looks when its jobs ought to end

Job = TypeVar("Job")
Result = TypeVar("Result")


class TooManyLost(Exception):
    """So many jobs hang that no more are begun."""


class Lanes:
    """Runs jobs in threads of their own. ``max_lost``: jobs given up that may still be running."""

    def __init__(self, max_lost: int = 32):
        self._max_lost = max_lost
        self._lost = 0
        self._lock = threading.Lock()

    @property
    def lost(self) -> int:
        """Jobs given up that still run."""
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
        """What ``work`` returns for each job; it must not raise.

        Jobs are begun in their order, as many at a time as there are ``lanes``. For one that takes
        more seconds than its ``limit_s`` the result is that of ``gave_up``, which is called in the
        caller's thread. Raises :class:`TooManyLost`.
        """
        with self._lock:
            if self._lost >= self._max_lost:
                raise TooManyLost(f"{self._lost} earlier steps took too long and are still running")
        return _LaneRun(self, deque(jobs), work, limit_s, gave_up).finish(lanes)

    def note_lost(self, count: int) -> None:
        with self._lock:
            self._lost += count


class _Lane:
    """``at``: until when its thread may work, and on what; one tuple, so that both are read at once."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: tuple[float, Any] = (math.inf, None)  # it has no job yet


class _LaneRun(Generic[Job, Result]):
    """The results are a dictionary's, of which Python sees to it that a job gets the first that
    anybody sets: its own, or that of giving it up. A lock for every job would take longer than many
    a job."""

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
        """Take job after job until none is left. One that is given up changes nothing any more."""
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
