"""What play took: who worked how long, and who waited for whom."""

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
    """Seconds and counts of running lines; threads may share one.

    ``sampling_seconds``: policies answered. ``waiting_seconds``: they stood still, because every
    line whose turn it was waited for its environment's steps. ``step_seconds``: of all steps,
    added up over threads; ``overlapped_seconds``: the part of these during which policies answered.
    """

    sampling_seconds: float = 0.0
    waiting_seconds: float = 0.0
    step_seconds: float = 0.0
    overlapped_seconds: float = 0.0
    answers: int = 0
    steps: int = 0
    # sampled until now, and since when it goes on; one tuple, so that a thread reads both at once
    _sampling: tuple[float, float | None] = field(default=(0.0, None), repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Policies answer."""
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
        """Policies wait for environments."""
        started = time.monotonic()
        yield
        self.waiting_seconds += time.monotonic() - started

    def stepping(self, step: Callable[[], Result], count: int) -> Result:
        """Make ``count`` steps in one."""
        started, sampled = time.monotonic(), self._sampled()
        found = step()
        seconds, overlapped = time.monotonic() - started, self._sampled() - sampled
        with self._lock:
            self.steps += count
            self.step_seconds += seconds
            self.overlapped_seconds += min(seconds, overlapped)
        return found

    def _sampled(self) -> float:
        seconds, since = self._sampling
        return seconds if since is None else seconds + time.monotonic() - since
