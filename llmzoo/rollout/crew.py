"""Threads that step environments that are slow or played elsewhere, while policies answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Condition
from types import TracebackType
from typing import Any

from llmzoo.rollout.clock import Clock
from llmzoo.rollout.lines import Act, Strand
from llmzoo.rollout.places import Place, place_of


@dataclass(slots=True)
class _Open:
    """What a strand waits for: ``results`` of its acts, of which those numbered ``missing`` have
    still to come; ``elsewhere``: those that wait for company, with the place of each."""

    results: list[Any]
    missing: set[int]
    elsewhere: list[tuple[Place, int, Act]]


@dataclass(slots=True, eq=False)
class _Party:
    """Strands that nothing but their own acts can move. ``going``: those that are on the move and
    do not only wait for company."""

    going: set[Strand]
    parked: list[Strand] = field(default_factory=list)


class Crew:
    """Moves strands on until they wait for policies; slow steps are made by threads.

    At most ``workers`` threads run at once. A strand is used by one of them at a time: with
    ``early`` from the start, otherwise the caller's until its first slow step; after steps by
    whichever made the last of those it waits for. What a step or a strand raises in a thread,
    :meth:`wait` raises. On leaving, steps that have begun are waited for, the others are dropped,
    and no thread is left.

    Acts that can be made elsewhere wait for company: once a :meth:`gather`-ed cohort can go on by
    nothing else, all of one place are made in one call.
    """

    def __init__(self, workers: int, clock: Clock, *, early: bool = False):
        self._clock = clock
        self._early = early
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="llmzoo-step")
        self._changed = Condition()
        self._moving: set[Strand] = set()
        self._parked: dict[Strand, _Open] = {}  # they wait for nothing but company
        self._parties: dict[Strand, _Party] = {}
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
        """Let a strand go on until it waits for policies or ends, in threads where they help."""
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

    def gather(self, strands: Collection[Strand]) -> None:
        """Nothing but its own acts will move any of these strands until :meth:`wait` has returned.

        From now on their acts elsewhere are made, whenever all of them wait for these.
        """
        with self._changed:
            moving = self._moving.intersection(strands)
            parked = [strand for strand in strands if strand in self._parked]
            party = _Party(moving.difference(parked), parked)
            for strand in moving:
                self._parties[strand] = party
            self._make_elsewhere(party)

    def _move(self, strand: Strand) -> None:
        strand.go_on()
        while strand.acts and not any(act.slow or place_of(act) for act in strand.acts):
            strand.acted([self._made(act) for act in strand.acts])
            strand.go_on()
        if not strand.acts:
            with self._changed:
                self._moving.discard(strand)
                party = self._parties.pop(strand, None)
                if party is not None:
                    party.going.discard(strand)
                    self._make_elsewhere(party)
                self._changed.notify_all()
            return
        acts = list(enumerate(strand.acts))
        elsewhere = [(place, slot, act) for slot, act in acts if (place := place_of(act))]
        waiting = _Open([None] * len(acts), set(range(len(acts))), elsewhere)
        for slot, act in acts:
            if place_of(act) is None:
                self._pool.submit(self._guarded, self._step, strand, slot, act, waiting)
        with self._changed:
            self._park(strand, waiting)

    def _step(self, strand: Strand, slot: int, act: Act, waiting: _Open) -> None:
        self._made_one(strand, waiting, {slot: self._made(act)})

    def _made_one(self, strand: Strand, waiting: _Open, results: dict[int, Any]) -> None:
        """Note results of a strand's acts, and move it on where they were the last."""
        with self._changed:
            for slot, result in results.items():
                waiting.results[slot] = result
                waiting.missing.discard(slot)
            last = not waiting.missing
            self._park(strand, waiting)
        if last and not self._closed:
            strand.acted(waiting.results)
            self._move(strand)

    def _park(self, strand: Strand, waiting: _Open) -> None:
        """Where a strand waits for company only, let it; the lock is held."""
        if not waiting.elsewhere or len(waiting.missing) > len(waiting.elsewhere):
            return
        self._parked[strand] = waiting
        party = self._parties.get(strand)
        if party is not None:
            party.going.discard(strand)
            party.parked.append(strand)
            self._make_elsewhere(party)

    def _make_elsewhere(self, party: _Party) -> None:
        """Where all of a party wait for company, make their acts; the lock is held."""
        if party.going or not party.parked:
            return
        calls: dict[Place, list[tuple[Strand, _Open, int, Act]]] = {}
        for strand in party.parked:
            waiting = self._parked.pop(strand)
            for place, slot, act in waiting.elsewhere:
                calls.setdefault(place, []).append((strand, waiting, slot, act))
            waiting.elsewhere = []
        party.going.update(party.parked)
        party.parked = []
        for place, made in calls.items():
            self._pool.submit(self._guarded, self._act_at, place, made)

    def _act_at(self, place: Place, made: list[tuple[Strand, _Open, int, Act]]) -> None:
        acts = [act for _, _, _, act in made]
        results = self._clock.stepping(lambda: place.act(acts), sum(len(act.texts) for act in acts))
        of_strand: dict[Strand, tuple[_Open, dict[int, Any]]] = {}
        for (strand, waiting, slot, _), result in zip(made, results, strict=True):
            of_strand.setdefault(strand, (waiting, {}))[1][slot] = result
        for strand, (waiting, found) in of_strand.items():
            self._made_one(strand, waiting, found)

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
