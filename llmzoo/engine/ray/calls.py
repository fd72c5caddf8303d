"""Calls of workers that are under way, and what is done when each has ended.

One thread drives a run. What it does with an answer may depend on the answer only, never on which
of two came first; so a run is the same however long each worker takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

Then = Callable[[], None]

MOST_DEATHS = 3  # of workers at the same work: further ones would die as well


class Lost(Exception):
    """The answer of a call will never come: its worker, or the machine with the answer, is gone."""


def answer(references: Sequence[Any]) -> list[Any]:
    """What a call gave, once it has ended; arrays as views into the object store.

    Raises :class:`Lost`.
    """
    try:
        found: list[Any] = ray.get(list(references))
    except RayError as error:
        raise Lost(" ".join(str(error).split())) from error
    return found


@dataclass(frozen=True, slots=True)
class _Call:
    then: Then
    deadline: float | None
    late: Then | None


class Calls:
    """The calls that are under way."""

    def __init__(self) -> None:
        self._calls: dict[Any, _Call] = {}

    def add(
        self,
        reference: Any,
        then: Then,
        *,
        seconds: float | None = None,
        late: Then | None = None,
    ) -> None:
        """Have ``then`` done when a call has ended; or ``late`` if that takes more ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._calls[reference] = _Call(then, deadline, late)

    def forget(self, reference: Any) -> None:
        """Nobody waits for this call any more."""
        self._calls.pop(reference, None)

    def until(self, done: Callable[[], bool]) -> None:
        """Wait for one call after the other until ``done`` says that it is enough."""
        while not done():
            assert self._calls, "waiting for nothing"
            ready, _ = ray.wait(list(self._calls), timeout=self._patience(), fetch_local=False)
            if ready:
                self._calls.pop(ready[0]).then()
            else:
                self._late()

    def _patience(self) -> float | None:
        deadlines = [call.deadline for call in self._calls.values() if call.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _late(self) -> None:
        now = time.monotonic()
        for reference, call in list(self._calls.items()):
            if call.deadline is not None and call.deadline <= now and call.late is not None:
                self.forget(reference)
                call.late()
