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

_ABANDONED = object()
_POLL_S = 0.25  # how often a caller checks deadlines

Job = TypeVar("Job")
Result = TypeVar("Result")


class TooManyAbandonedError(Exception):
    """Too many abandoned jobs are still running, so no more are started."""


class TimeoutPool:
    """Runs jobs in threads. ``max_abandoned``: the number of abandoned jobs still running at
    which no more jobs are started."""

    def __init__(self, max_abandoned: int = 32):
        self._max_abandoned = max_abandoned
        self._abandoned = 0
        self._lock = threading.Lock()

    @property
    def abandoned_count(self) -> int:
        """Abandoned jobs that still run."""
        return self._abandoned

    def run(
        self,
        jobs: Iterable[Job],
        work: Callable[[Job], Result],
        *,
        limit_s: Callable[[Job], float],
        on_timeout: Callable[[Job], Result],
        threads: int = 1,
    ) -> dict[Job, Result]:
        """The result of ``work`` for each job; ``work`` must not raise.

        Starts jobs in order, up to ``threads`` at a time. A job that exceeds its ``limit_s`` in
        seconds gets the result of ``on_timeout``, which runs in the caller's thread. Raises
        :class:`TooManyAbandonedError`.
        """
        with self._lock:
            if self._abandoned >= self._max_abandoned:
                raise TooManyAbandonedError(
                    f"{self._abandoned} earlier steps took too long and are still running"
                )
        return _PoolRun(self, deque(jobs), work, limit_s, on_timeout).run(threads)

    def add_abandoned(self, count: int) -> None:
        with self._lock:
            self._abandoned += count


class _PoolThread:
    """A thread's deadline and job, in one tuple, so that both are read at once."""

    __slots__ = ("deadline_and_job",)

    def __init__(self) -> None:
        self.deadline_and_job: tuple[float, Any] = (math.inf, None)  # no job yet


class _PoolRun(Generic[Job, Result]):
    """One call of :meth:`TimeoutPool.run`.

    ``dict.setdefault`` is atomic, so a job that ends just as it is abandoned has one result: the
    one that was stored first. A lock per job would take longer than many jobs do.
    """

    def __init__(
        self,
        pool: TimeoutPool,
        jobs: deque[Job],
        work: Callable[[Job], Result],
        limit_s: Callable[[Job], float],
        on_timeout: Callable[[Job], Result],
    ):
        self._pool = pool
        self._jobs = jobs
        self._work = work
        self._limit_s = limit_s
        self._on_timeout = on_timeout
        self._results: dict[Job, Any] = {}
        self._busy: set[_PoolThread] = set()
        self._changed = threading.Condition()

    def run(self, threads: int) -> dict[Job, Result]:
        for _ in range(min(threads, len(self._jobs))):
            self._start_thread()
        with self._changed:
            while self._busy:
                end = min(thread.deadline_and_job[0] for thread in self._busy)
                self._changed.wait(min(max(0.001, end - time.monotonic()), _POLL_S))
                now = time.monotonic()
                for thread in list(self._busy):
                    until, job = thread.deadline_and_job
                    if until <= now and self._results.setdefault(job, _ABANDONED) is _ABANDONED:
                        self._abandon(thread, job)
        return self._results

    def _start_thread(self) -> None:
        thread = _PoolThread()
        self._busy.add(thread)
        threading.Thread(
            target=self._run_jobs, args=(thread,), name="llmzoo-job", daemon=True
        ).start()

    def _run_jobs(self, thread: _PoolThread) -> None:
        """Run jobs until none is left. An abandoned job changes nothing any more."""
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                break
            thread.deadline_and_job = (time.monotonic() + self._limit_s(job), job)
            result = self._work(job)
            if self._results.setdefault(job, result) is not result:
                self._pool.add_abandoned(-1)
                return
        with self._changed:
            self._busy.discard(thread)
            self._changed.notify_all()

    def _abandon(self, thread: _PoolThread, job: Job) -> None:
        self._pool.add_abandoned(1)
        self._busy.discard(thread)
        self._results[job] = self._on_timeout(job)
        if self._jobs:
            self._start_thread()
