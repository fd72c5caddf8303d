"""Runs many lines of play at once, so that whatever waits for the same policy is asked together.

All lines advance until each waits for a policy; then every policy answers its whole batch in one
call. Environments that say ``metadata["slow_step"]`` are stepped by threads, side by side, and
beside sampling in two ways:

* ``early``: a line goes on as soon as its own answers are complete, while the same call still
  writes longer ones (an :class:`llmzoo.policies.base.EarlyPolicy`) or another policy its own. This
  costs nothing, and hides the steps of all lines but those whose answers come last.
* ``cohorts``: the lines are divided into parts that take turns at the policies; the others' steps
  go on meanwhile. This hides all steps that take no longer than a call, but there are more calls,
  of fewer rows, and a call has a cost whatever its rows: it pays where steps take longer than that.

Environments that are played elsewhere (:mod:`llmzoo.rollout.stepping`) are stepped in few calls: all
acts of a cohort that are for one place in one, made beside the other cohorts' sampling.

Nothing depends on which step is ready first: cohorts are fixed, they take turns in a fixed order,
and what happens within a line does too. So each call of a policy gets the same requests for any
number of threads, and the same seeds give the same play to the last bit.

Every request is given its ``noise``: a number made of the name of the line, the branch that asks,
and how often it has asked before. So a line's chance does not depend on the lines beside it, and
other cohorts change answers by rounding at most.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from threading import Condition, Event
from types import TracebackType
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import EarlyPolicy, Policy, Request
from llmzoo.records import Completion
from llmzoo.rollout.clock import Clock
from llmzoo.rollout.stepping import Act, RemoteHost, host_of


@dataclass(frozen=True, slots=True)
class Ask:
    """``group_size`` answers to one request (one greedy answer with ``greedy``)."""

    request: Request
    group_size: int = 1
    greedy: bool = False


Rollout = Generator[Any, Any, Any]
RolloutKey = int | str | tuple[int | str, ...]  # of a line: what its chance hangs on


def rollout_keys(seeds: Sequence[int]) -> list[RolloutKey]:
    """A name for the line of each seed: the seed, and how often it has occurred before.

    So a seed's play is its own, and a batch split over processes draws the same answers.
    """
    before: Counter[int] = Counter()
    keys: list[RolloutKey] = []
    for seed in seeds:
        keys.append((seed, before[seed]))
        before[seed] += 1
    return keys


@dataclass(slots=True)
class _Branch:
    line: Rollout
    path: tuple[Any, ...]  # the line's name, then which operation of each branch led here
    parent: _Branch | None = None
    slot: int = 0
    results: list[Any] = field(default_factory=list)  # of the operations or branches it waits for
    left: int = 0
    single: bool = False  # it yielded one operation, not a list
    yielded: int = 0

    def take(self, slot: int, result: Any) -> bool:
        """Note a result; true when it was the last one awaited."""
        self.results[slot] = result
        self.left -= 1
        return self.left == 0


class RunningRollout:
    """A line with its branches. It goes on by itself between the answers of policies.

    ``asks`` and ``acts`` are what it waits for. Everything inside happens in one order, whatever
    other strands do meanwhile; one thread at a time may use it.
    """

    def __init__(self, line: Rollout, key: RolloutKey):
        self.acts: list[Act] = []
        self.asks: list[Ask] = []
        self.result: Any = None
        self._acting: list[tuple[_Branch, int]] = []  # who yielded each of the acts, and where
        self._asking: list[tuple[_Branch, int]] = []
        self._answers: dict[int, list[Completion]] = {}  # to those of ``asks`` that have one
        self._ready: deque[tuple[_Branch, Any]] = deque([(_Branch(line, (key,)), None)])

    def go_on(self) -> None:
        """Run every branch until each waits for a step or an answer, or all have ended."""
        while self._ready:
            branch, value = self._ready.popleft()
            try:
                wanted = branch.line.send(value)
            except StopIteration as stop:
                self._ended(branch, stop.value)
                continue
            branch.single = not isinstance(wanted, list)
            operations = [wanted] if branch.single else wanted
            branch.results = [None] * len(operations)
            branch.left = len(operations)
            if not operations:
                self._ready.append((branch, []))
            for slot, operation in enumerate(operations):
                path = (*branch.path, (branch.yielded, slot))
                if isinstance(operation, Ask):
                    request = replace(operation.request, noise=_noise(path))
                    self.asks.append(replace(operation, request=request))
                    self._asking.append((branch, slot))
                elif isinstance(operation, Act):
                    self.acts.append(operation)
                    self._acting.append((branch, slot))
                else:
                    self._ready.append((_Branch(operation, path, branch, slot), None))
            branch.yielded += 1

    def acted(self, results: Sequence[Any]) -> None:
        """Hand out what came of ``acts``, in order."""
        waiting, self._acting, self.acts = self._acting, [], []
        self._hand_out(waiting, results)

    def answered(self, slot: int, answers: list[Completion]) -> bool:
        """Note the answers to one of ``asks``; once all have theirs it can go on: then true."""
        self._answers[slot] = answers
        if len(self._answers) < len(self.asks):
            return False
        waiting, self._asking, self.asks = self._asking, [], []
        found, self._answers = self._answers, {}
        self._hand_out(waiting, [found[slot] for slot in range(len(waiting))])
        return True

    def _hand_out(self, waiting: Sequence[tuple[_Branch, int]], results: Sequence[Any]) -> None:
        for (branch, slot), result in zip(waiting, results, strict=True):
            if branch.take(slot, result):
                self._ready.append((branch, branch.results[0] if branch.single else branch.results))

    def _ended(self, branch: _Branch, value: Any) -> None:
        if branch.parent is None:
            self.result = value
        elif branch.parent.take(branch.slot, value):
            self._ready.append((branch.parent, branch.parent.results))


def _noise(path: tuple[Any, ...]) -> int:
    """62 bits that are the same for the same path on every machine."""
    return int.from_bytes(blake2b(repr(path).encode(), digest_size=8).digest(), "big") >> 2


@dataclass(slots=True)
class _Open:
    """What a strand waits for: ``results`` of its acts, of which those numbered ``missing`` have
    still to come; ``elsewhere``: those that wait for company, with the place of each."""

    results: list[Any]
    missing: set[int]
    elsewhere: list[tuple[RemoteHost, int, Act]]


@dataclass(slots=True, eq=False)
class _Cohort:
    """Strands that nothing but their own acts can move. ``going``: those that are on the move and
    do not only wait for company."""

    going: set[RunningRollout]
    parked: list[RunningRollout] = field(default_factory=list)


class StepPool:
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
        self._moving: set[RunningRollout] = set()
        self._parked: dict[RunningRollout, _Open] = {}  # they wait for nothing but company
        self._parties: dict[RunningRollout, _Cohort] = {}
        self._error: BaseException | None = None
        self._closed = False

    def __enter__(self) -> StepPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closed = True
        self._pool.shutdown(cancel_futures=True)

    def move(self, strand: RunningRollout) -> None:
        """Let a strand go on until it waits for policies or ends, in threads where they help."""
        with self._changed:
            self._moving.add(strand)
        if self._early:
            self._pool.submit(self._guarded, self._move, strand)
        else:
            self._move(strand)

    def wait(self, strands: Collection[RunningRollout]) -> None:
        """Until all of these wait for policies or have ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._error is not None or self._moving.isdisjoint(strands)
            )
            if self._error is not None:
                raise self._error

    def gather(self, strands: Collection[RunningRollout]) -> None:
        """Nothing but its own acts will move any of these strands until :meth:`wait` has returned.

        From now on their acts elsewhere are made, whenever all of them wait for these.
        """
        with self._changed:
            moving = self._moving.intersection(strands)
            parked = [strand for strand in strands if strand in self._parked]
            party = _Cohort(moving.difference(parked), parked)
            for strand in moving:
                self._parties[strand] = party
            self._make_elsewhere(party)

    def _move(self, strand: RunningRollout) -> None:
        strand.go_on()
        while strand.acts and not any(act.slow or host_of(act) for act in strand.acts):
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
        elsewhere = [(place, slot, act) for slot, act in acts if (place := host_of(act))]
        waiting = _Open([None] * len(acts), set(range(len(acts))), elsewhere)
        for slot, act in acts:
            if host_of(act) is None:
                self._pool.submit(self._guarded, self._step, strand, slot, act, waiting)
        with self._changed:
            self._park(strand, waiting)

    def _step(self, strand: RunningRollout, slot: int, act: Act, waiting: _Open) -> None:
        self._made_one(strand, waiting, {slot: self._made(act)})

    def _made_one(self, strand: RunningRollout, waiting: _Open, results: dict[int, Any]) -> None:
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

    def _park(self, strand: RunningRollout, waiting: _Open) -> None:
        """Where a strand waits for company only, let it; the lock is held."""
        if not waiting.elsewhere or len(waiting.missing) > len(waiting.elsewhere):
            return
        self._parked[strand] = waiting
        party = self._parties.get(strand)
        if party is not None:
            party.going.discard(strand)
            party.parked.append(strand)
            self._make_elsewhere(party)

    def _make_elsewhere(self, party: _Cohort) -> None:
        """Where all of a party wait for company, make their acts; the lock is held."""
        if party.going or not party.parked:
            return
        calls: dict[RemoteHost, list[tuple[RunningRollout, _Open, int, Act]]] = {}
        for strand in party.parked:
            waiting = self._parked.pop(strand)
            for place, slot, act in waiting.elsewhere:
                calls.setdefault(place, []).append((strand, waiting, slot, act))
            waiting.elsewhere = []
        party.going.update(party.parked)
        party.parked = []
        for place, made in calls.items():
            self._pool.submit(self._guarded, self._act_at, place, made)

    def _act_at(
        self, place: RemoteHost, made: list[tuple[RunningRollout, _Open, int, Act]]
    ) -> None:
        acts = [act for _, _, _, act in made]
        results = self._clock.stepping(lambda: place.act(acts), sum(len(act.texts) for act in acts))
        of_strand: dict[RunningRollout, tuple[_Open, dict[int, Any]]] = {}
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


class Stopped(Exception):
    """A run was told to stop before its end."""


def run(
    lines: Sequence[Rollout],
    seats: Mapping[str, Policy],
    *,
    keys: Sequence[RolloutKey] | None = None,
    early: bool = False,
    cohorts: int = 1,
    workers: int = 8,
    clock: Clock | None = None,
    stop: Event | None = None,
) -> list[Any]:
    """Run all lines to their end; returns their return values, in order.

    ``keys``: a name for each line that no other has, by default its index. Lines of the same name
    draw the same answers in any run. ``early``: lines go on in threads as soon as they can.
    ``cohorts``: parts of the lines that take turns at the policies. ``workers``: threads, and so
    steps of slow environments at once. ``clock``: what it took is added to it. ``stop``: once it is
    set :class:`Stopped` is raised in place of the next call of a policy.

    What a line, a policy or a step raises ends the run: steps that have begun are waited for, and
    no others are made.
    """
    clock = Clock() if clock is None else clock
    keys = range(len(lines)) if keys is None else keys
    if len(set(keys)) < len(keys):
        twice = next(name for name in keys if list(keys).count(name) > 1)
        raise ValueError(f"two lines are named {twice!r} and would draw the same answers")
    if cohorts < 1 or workers < 1:
        raise ValueError(f"cohorts and workers are at least 1, got {cohorts} and {workers}")
    strands = [RunningRollout(line, key) for line, key in zip(lines, keys, strict=True)]
    with StepPool(workers, clock, early=early) as crew:
        for strand in strands:
            crew.move(strand)
        turns = deque(strands[first::cohorts] for first in range(cohorts))
        for cohort in turns:
            crew.gather(cohort)
        while turns:
            cohort = turns.popleft()
            with clock.waiting():
                crew.wait(cohort)
            cohort = [strand for strand in cohort if strand.asks]  # the others have ended
            if stop is not None and stop.is_set():
                raise Stopped
            if cohort:
                _ask(cohort, seats, crew, clock, early=early)
                crew.gather(cohort)
                turns.append(cohort)
    return [strand.result for strand in strands]


def slow_steps(envs: Iterable[AECEnv]) -> bool:
    """Whether an environment says that its steps are worth a thread."""
    return any(env.metadata.get("slow_step", False) for env in envs)


Waiting = tuple[RunningRollout, int, Ask]  # a strand, and which of its asks this is


def _ask(
    cohort: Sequence[RunningRollout],
    seats: Mapping[str, Policy],
    crew: StepPool,
    clock: Clock,
    *,
    early: bool,
) -> None:
    """Let every policy answer what the strands of a cohort ask of it, and the strands go on."""
    asks = [(strand, slot, ask) for strand in cohort for slot, ask in enumerate(strand.asks)]
    batches: dict[tuple[int, int, bool], list[Waiting]] = {}
    for strand, slot, ask in asks:
        key = (id(seats[ask.request.agent]), ask.group_size, ask.greedy)
        batches.setdefault(key, []).append((strand, slot, ask))
    for batch in batches.values():
        _call(seats[batch[0][2].request.agent], batch, crew, clock, early=early)


def _call(
    policy: Policy, batch: Sequence[Waiting], crew: StepPool, clock: Clock, *, early: bool
) -> None:
    """One call of a policy; what it answers is handed out."""
    requests = [ask.request for _, _, ask in batch]
    group_size, greedy = batch[0][2].group_size, batch[0][2].greedy
    handed_out: set[int] = set()

    def answered(index: int, answers: list[Completion]) -> None:
        handed_out.add(index)
        strand, slot, _ = batch[index]
        if strand.answered(slot, answers):
            crew.move(strand)

    with clock.sampling():
        if early and isinstance(policy, EarlyPolicy):
            found = policy.respond_early(requests, group_size, greedy=greedy, answered=answered)
        else:
            found = policy.respond(requests, group_size, greedy=greedy)
    clock.answers += sum(map(len, found))
    for index, (_, answers) in enumerate(zip(batch, found, strict=True)):
        if index not in handed_out:
            answered(index, answers)
