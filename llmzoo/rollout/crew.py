"""Threads that step slow environments while policies answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from types import TracebackType
from typing import Any

from llmzoo.rollout.clock import Clock
from llmzoo.rollout.lines import Act, Strand


class Crew:
    """Moves strands on until they wait for policies; slow steps are made by threads.

    At most ``workers`` threads run at once. A strand is used by one of them at a time: with
    ``early`` from the start, otherwise the caller's until its first slow step; after steps by
    whichever made the last of those it waits for. What a step or a strand raises in a thread, :meth:`wait` raises. On leaving, steps that have
    begun are waited for, the others are dropped, and no thread is left.
    """

    def __init__(self, workers: int, clock: Clock, *, early: bool = False):
        self._clock = clock
        self._early = early
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="llmzoo-step")
        self._changed = Condition()
        self._moving: set[Strand] = set()
        self._error: BaseException | None = None
        self._closed = False

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closed = True
        self._pool.shutdown(cancel_futures=True)

    def move(self, strand: Strand) -> None:
        """Let a strand go on until it waits for policies or has ended, in threads where they help."""
        with self._changed:
            self._moving.add(strand)
        if self._early:
            self._pool.submit(self._guarded, self._move, strand)
        else:
            self._move(strand)

    def wait(self, strands: Collection[Strand]) -> None:
        """Until all of these wait for policies or have ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._error is not None or self._moving.isdisjoint(strands)
            )
            if self._error is not None:
                raise self._error

    def _move(self, strand: Strand) -> None:
        strand.go_on()
        while strand.acts and not any(act.slow for act in strand.acts):
            strand.acted([self._made(act) for act in strand.acts])
            strand.go_on()
        if not strand.acts:
            with self._changed:
                self._moving.discard(strand)
                self._changed.notify_all()
            return
        results: list[Any] = [None] * len(strand.acts)
        missing = set(range(len(results)))
        for slot, act in enumerate(tuple(strand.acts)):
            self._pool.submit(self._guarded, self._step, strand, slot, act, results, missing)

    def _step(
        self, strand: Strand, slot: int, act: Act, results: list[Any], missing: set[int]
    ) -> None:
        results[slot] = self._made(act)
        with self._changed:
            missing.discard(slot)
            last = not missing
        if last and not self._closed:
            strand.acted(results)
            self._move(strand)

    def _guarded(self, work: Callable[..., None], *args: Any) -> None:
        if self._closed or self._error is not None:
            return
        try:
            work(*args)
        except BaseException as error:  # raised again by wait()
            with self._changed:
                self._error = error if self._error is None else self._error
                self._changed.notify_all()

    def _made(self, act: Act) -> Any:
        try:
            return self._clock.stepping(lambda: act.by(act.env, act.texts), len(act.texts))
        except Exception as error:
            if sys.version_info >= (3, 11):
                error.add_note(f"in a step of {act.env}")
            raise
