"""Times and counts of rollouts: who worked how long, and who waited for whom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(slots=True)
class Clock:
    """Seconds and counts of running rollouts; threads may share one.

    ``sampling_seconds``: policies answered. ``waiting_seconds``: policies were idle, because every
    rollout whose turn it was waited for steps. ``step_seconds``: of all steps, summed over threads.
    ``overlapped_seconds``: the part of these during which policies answered.
    """

    sampling_seconds: float = 0.0
    waiting_seconds: float = 0.0
    step_seconds: float = 0.0
    overlapped_seconds: float = 0.0
    answers: int = 0
    steps: int = 0
    # seconds of earlier calls, and the start of the present one; one tuple, so that a thread reads
    # both at once
    _sampling: tuple[float, float | None] = field(default=(0.0, None), repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Time an answer of policies."""
        before, started = self._sampling[0], time.monotonic()
        self._sampling = (before, started)
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._sampling = (before + seconds, None)
            self.sampling_seconds += seconds

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time policies' wait for environments."""
        started = time.monotonic()
        yield
        self.waiting_seconds += time.monotonic() - started

    def stepping(self, step: Callable[[], Result], count: int) -> Result:
        """Time a call that makes ``count`` steps."""
        started, sampled = time.monotonic(), self._sampled()
        result = step()
        seconds, overlapped = time.monotonic() - started, self._sampled() - sampled
        with self._lock:
            self.steps += count
            self.step_seconds += seconds
            self.overlapped_seconds += min(seconds, overlapped)
        return result

    def _sampled(self) -> float:
        seconds, since = self._sampling
        return seconds if since is None else seconds + time.monotonic() - since
