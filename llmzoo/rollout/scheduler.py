"""Runs many rollouts at once, with one call per policy for everything that waits for it.

A rollout is a generator. It yields what it needs and is sent the result:

* :class:`SampleRequest`: a group of answers of one agent -> a list of completions.
* a list of :class:`SampleRequest` -> a list of those lists (agents that choose at the same time).
* :class:`Act`: answers to step an environment with -> what each agent was paid.
* a list of :class:`Act` -> a list of those (forks of one state).
* a list of generators -> a list of their return values (branches of a tree).

All rollouts advance until each waits for a policy. Then every policy answers its whole batch in one
call. Environments with ``metadata["slow_step"]`` are stepped in threads, and those of a
:class:`RemoteHost` in one call for a whole cohort. These steps overlap with sampling in two ways:

* ``early``: a rollout goes on as soon as its own answers are complete, while the same call still
  samples longer ones (an :class:`llmzoo.policies.base.StreamingPolicy`) or another policy samples. This
  costs nothing. It hides the steps of every rollout except those whose answers come last.
* ``cohorts``: parts of the rollouts take turns at the policies. One cohort steps while another is
  sampled. This hides all steps that are shorter than a call, but calls become more numerous and
  smaller. It pays only where steps take longer than the fixed cost of a call.

The order in which steps end changes nothing: cohorts are fixed and take turns in a fixed order. A
policy gets the same requests in each call for any number of threads, and the same seeds give the
same rollouts to the last bit. The ``noise`` of a request is a hash of its rollout's key and its
place in that rollout. So other rollouts and cohorts change answers by rounding at most.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from threading import Condition, Event
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy, PolicyRequest, StreamingPolicy, ignore_completion
from llmzoo.records import Completion
from llmzoo.rollout.stepping import RemoteHost, RolloutClock, StepRequest, get_remote_host


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """``group_size`` answers to one request (one greedy answer with ``greedy``)."""

    request: PolicyRequest
    group_size: int = 1
    greedy: bool = False


def build_request(env: AECEnv, agent: str, seed: int) -> PolicyRequest:
    """What a policy is asked for ``agent`` in the present state of the episode."""
    return PolicyRequest(agent=agent, observation=env.observe(agent) or "", env=env, seed=seed)


Rollout = Generator[Any, Any, Any]
RolloutKey = int | str | tuple[int | str, ...]  # seeds the randomness of a rollout


def rollout_keys(seeds: Sequence[int]) -> list[RolloutKey]:
    """A key for the rollout of each seed: the seed, and how often it has occurred before.

    A batch that is split over processes draws the same answers as the whole batch.
    """
    before: Counter[int] = Counter()
    keys: list[RolloutKey] = []
    for seed in seeds:
        keys.append((seed, before[seed]))
        before[seed] += 1
    return keys


class RolloutsStopped(Exception):
    """A run was told to stop before its end."""


def run_rollouts(
    rollouts: Sequence[Rollout],
    agent_policies: Mapping[str, Policy],
    *,
    keys: Sequence[RolloutKey] | None = None,
    early: bool = False,
    cohorts: int = 1,
    workers: int = 8,
    clock: RolloutClock | None = None,
    stop: Event | None = None,
) -> list[Any]:
    """Run all rollouts to their end; returns their return values, in order.

    ``keys``: a distinct key for each rollout, by default its index. Rollouts with the same key draw
    the same answers in any run. ``early``: rollouts go on in threads as soon as they can.
    ``cohorts``: how many parts of the rollouts take turns at the policies. ``workers``: threads,
    and so steps of slow environments at once. ``clock``: its times and counts are increased.
    ``stop``: once it is set, :class:`Stopped` is raised instead of the next call of a policy.

    An exception of a rollout, a policy or a step ends the run. Steps that have begun are waited
    for, and no others are made.
    """
    clock = RolloutClock() if clock is None else clock
    keys = range(len(rollouts)) if keys is None else keys
    if len(set(keys)) < len(keys):
        duplicate_key = next(key for key in keys if list(keys).count(key) > 1)
        raise ValueError(
            f"two rollouts have the key {duplicate_key!r} and would draw the same answers"
        )
    if cohorts < 1 or workers < 1:
        raise ValueError(f"cohorts and workers are at least 1, got {cohorts} and {workers}")
    running = [RunningRollout(r, key) for r, key in zip(rollouts, keys, strict=True)]
    scheduler = _Scheduler(agent_policies, workers, clock, early=early)
    try:
        turns = deque(_Cohort(running[first::cohorts]) for first in range(cohorts))
        for cohort in turns:
            scheduler.start(cohort)
        while turns:
            cohort = turns.popleft()
            with clock.waiting():
                scheduler.wait(cohort)
            cohort.rollouts = [rollout for rollout in cohort.rollouts if rollout.asks]
            if stop is not None and stop.is_set():
                raise RolloutsStopped
            if cohort.rollouts:
                scheduler.ask(cohort)
                turns.append(cohort)
    finally:
        scheduler.stop()
    return [rollout.result for rollout in running]


def has_slow_steps(envs: Iterable[AECEnv]) -> bool:
    """Whether any environment declares that its steps are worth a thread."""
    return any(env.metadata.get("slow_step", False) for env in envs)


_Step = tuple["RunningRollout", int, StepRequest]  # a rollout, and which of its acts this is


@dataclass(slots=True)
class _Cohort:
    """Rollouts that take their turn at the policies together.

    ``active``: how many of its rollouts wait for an answer or are going on, plus its steps in
    threads and its calls of remote hosts. ``remote``: the steps for each remote host, which are
    made once nothing else is active.
    """

    rollouts: list[RunningRollout]
    active: int = 0
    remote: dict[RemoteHost, list[_Step]] = field(default_factory=dict)


class _Scheduler:
    """Asks policies, and steps environments until rollouts wait for policies or end.

    Slow steps run in threads. Only one thread at a time uses a rollout: the caller's until the first
    slow step (with ``early`` a thread from the start), then the thread that made the last of its
    steps. :meth:`wait` raises the first exception of any thread.
    """

    def __init__(
        self,
        agent_policies: Mapping[str, Policy],
        workers: int,
        clock: RolloutClock,
        *,
        early: bool,
    ):
        self._policies, self._clock, self._early = agent_policies, clock, early
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="llmzoo-step")
        self._changed = Condition()
        self._error: BaseException | None = None
        self._stopped = False

    def start(self, cohort: _Cohort) -> None:
        """Let all rollouts of a cohort begin."""
        cohort.active = len(cohort.rollouts)
        for rollout in cohort.rollouts:
            self._go_on(cohort, rollout)

    def ask(self, cohort: _Cohort) -> None:
        """Let every policy answer what the rollouts of a cohort ask, and let the rollouts go on."""
        cohort.active = len(cohort.rollouts)
        keys = {
            id(policy): policy.batch_key if isinstance(policy, StreamingPolicy) else id(policy)
            for policy in self._policies.values()
        }
        calls: dict[tuple[Hashable, int, bool], list[tuple[RunningRollout, int]]] = {}
        for rollout in cohort.rollouts:
            for number, sample_request in enumerate(rollout.asks):
                key = keys[id(self._policies[sample_request.request.agent])]
                call = (key, sample_request.group_size, sample_request.greedy)
                calls.setdefault(call, []).append((rollout, number))
        for targets in calls.values():
            self._call(cohort, targets)

    def _call(self, cohort: _Cohort, targets: Sequence[tuple[RunningRollout, int]]) -> None:
        """One call of a policy, or of several together, for asks of one kind."""
        sample_requests = [rollout.asks[number] for rollout, number in targets]
        requests = [ask.request for ask in sample_requests]
        policies = [self._policies[request.agent] for request in requests]
        policy = policies[0]
        group_size, greedy = sample_requests[0].group_size, sample_requests[0].greedy
        delivered: set[int] = set()

        def deliver(index: int, answers: list[Completion]) -> None:
            delivered.add(index)
            rollout, number = targets[index]
            if rollout.complete_sample(number, answers):
                self._go_on(cohort, rollout)

        with self._clock.sampling():
            if isinstance(policy, StreamingPolicy) and len(set(map(id, policies))) > 1:
                groups = policy.respond_jointly(
                    policies,
                    requests,
                    group_size,
                    greedy=greedy,
                    on_complete=deliver if self._early else ignore_completion,
                )
            elif self._early and isinstance(policy, StreamingPolicy):
                groups = policy.respond_streaming(
                    requests, group_size, greedy=greedy, on_complete=deliver
                )
            else:
                groups = policy.respond(requests, group_size, greedy=greedy)
        self._clock.answers += sum(map(len, groups))
        for index, (_, answers) in enumerate(zip(targets, groups, strict=True)):
            if index not in delivered:
                deliver(index, answers)

    def wait(self, cohort: _Cohort) -> None:
        """Return once every rollout of a cohort waits for a policy or has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not cohort.active)
            if self._error is not None:
                raise self._error

    def stop(self) -> None:
        """Begin no further step."""
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)

    def _go_on(self, cohort: _Cohort, rollout: RunningRollout) -> None:
        """Let a rollout go on until it waits for a policy or ends, in threads where they help."""
        if self._early:
            self._submit(self._advance, cohort, rollout)
        else:
            self._advance(cohort, rollout)

    def _advance(self, cohort: _Cohort, rollout: RunningRollout) -> None:
        """Run a rollout and make its quick steps, until it waits for anything else."""
        rollout.advance()
        while rollout.step_requests and not any(
            act.slow or get_remote_host(act) for act in rollout.step_requests
        ):
            for number, act in enumerate(rollout.step_requests):
                rollout.complete_step(number, self._step(act))
            rollout.advance()
        with self._changed:
            for number, act in enumerate(rollout.step_requests):
                host = get_remote_host(act)
                if host is not None:
                    cohort.remote.setdefault(host, []).append((rollout, number, act))
                else:
                    cohort.active += 1
                    self._submit(self._step_locally, cohort, rollout, number, act)
        self._finish_activity(cohort)

    def _step(self, act: StepRequest) -> Any:
        """Step an environment here."""
        try:
            return self._clock.time_steps(lambda: act.step_fn(act.env, act.texts), len(act.texts))
        except Exception as error:
            if sys.version_info >= (3, 11):
                error.add_note(f"in a step of {act.env}")
            raise

    def _step_locally(
        self, cohort: _Cohort, rollout: RunningRollout, number: int, act: StepRequest
    ) -> None:
        self._act(cohort, [(rollout, number, self._step(act))])

    def _step_remotely(self, cohort: _Cohort, host: RemoteHost, steps: Sequence[_Step]) -> None:
        acts = [act for _, _, act in steps]
        count = sum(len(act.texts) for act in acts)
        results = self._clock.time_steps(lambda: host.act(acts), count)
        done = zip(steps, results, strict=True)
        self._act(cohort, [(rollout, number, result) for (rollout, number, _), result in done])

    def _act(self, cohort: _Cohort, results: Sequence[tuple[RunningRollout, int, Any]]) -> None:
        """Hand the results of steps to their rollouts, and run those whose steps are complete."""
        with self._changed:
            complete = [r for r, number, result in results if r.complete_step(number, result)]
            cohort.active += len(complete)
        for rollout in complete:
            if not self._stopped:
                self._advance(cohort, rollout)
        self._finish_activity(cohort)

    def _finish_activity(self, cohort: _Cohort) -> None:
        """One of a cohort's activities has ended; after the last, remote steps are made."""
        with self._changed:
            cohort.active -= 1
            if cohort.active or self._stopped:
                return
            calls, cohort.remote = cohort.remote, {}
            cohort.active = len(calls)
            for host, steps in calls.items():
                self._submit(self._step_remotely, cohort, host, steps)
            self._changed.notify_all()

    def _submit(self, work: Callable[..., None], *args: Any) -> None:
        self._pool.submit(self._run_task, work, *args)

    def _run_task(self, work: Callable[..., None], *args: Any) -> None:
        if self._stopped:
            return
        try:
            work(*args)
        except BaseException as error:  # raised again by wait()
            with self._changed:
                self._error = self._error or error
                self._stopped = True
                self._changed.notify_all()


@dataclass(slots=True)
class _Branch:
    generator: Rollout
    path: tuple[Any, ...]  # the rollout's key, then which operation of each branch led here
    parent: _Branch | None = None
    slot: int = 0
    results: list[Any] = field(default_factory=list)  # of the operations or branches it waits for
    missing: int = 0
    single: bool = False  # it yielded one operation, not a list
    yield_count: int = 0


@dataclass(slots=True)
class _Pending:
    """Operations of one kind that a rollout waits for, with the branch and slot of each."""

    operations: list[Any] = field(default_factory=list)
    recipients: list[tuple[_Branch, int]] = field(default_factory=list)
    results: dict[int, Any] = field(default_factory=dict)


class RunningRollout:
    """A rollout with its branches. It goes on by itself between answers of policies and steps.

    Everything inside happens in one order, whatever other rollouts do meanwhile. Only one thread at
    a time may use it.
    """

    def __init__(self, rollout: Rollout, key: RolloutKey):
        self.result: Any = None
        self._pending_steps = _Pending()
        self._pending_samples = _Pending()
        self._ready: deque[tuple[_Branch, Any]] = deque([(_Branch(rollout, (key,)), None)])

    @property
    def asks(self) -> list[SampleRequest]:
        """The answers that the rollout waits for."""
        return self._pending_samples.operations

    @property
    def step_requests(self) -> list[StepRequest]:
        """The steps that the rollout waits for. They are made before any of ``asks``."""
        return self._pending_steps.operations

    def advance(self) -> None:
        """Run every branch until each waits for a step or an answer, or all have ended."""
        while self._ready:
            branch, value = self._ready.popleft()
            try:
                wanted = branch.generator.send(value)
            except StopIteration as stop:
                self._end(branch, stop.value)
                continue
            branch.single = not isinstance(wanted, list)
            operations = [wanted] if branch.single else wanted
            branch.results = [None] * len(operations)
            branch.missing = len(operations)
            if not operations:
                self._ready.append((branch, []))
            for slot, operation in enumerate(operations):
                path = (*branch.path, (branch.yield_count, slot))
                if isinstance(operation, SampleRequest):
                    noisy = replace(operation.request, noise=_noise_from_path(path))
                    self._pending_samples.operations.append(replace(operation, request=noisy))
                    self._pending_samples.recipients.append((branch, slot))
                elif isinstance(operation, StepRequest):
                    self._pending_steps.operations.append(operation)
                    self._pending_steps.recipients.append((branch, slot))
                else:
                    self._ready.append((_Branch(operation, path, branch, slot), None))
            branch.yield_count += 1

    def complete_step(self, number: int, result: Any) -> bool:
        """Note what act ``number`` gave; returns whether it was the last of ``acts``."""
        return self._complete(self._pending_steps, number, result)

    def complete_sample(self, number: int, answers: list[Completion]) -> bool:
        """Note the completions of sample ``number``; returns whether they were the last of ``asks``."""
        return self._complete(self._pending_samples, number, answers)

    def _complete(self, pending: _Pending, number: int, result: Any) -> bool:
        """Note a result; after the last one, all of them go to their branches in order."""
        pending.results[number] = result
        if len(pending.results) < len(pending.operations):
            return False
        takers, results = pending.recipients, pending.results
        pending.operations, pending.recipients, pending.results = [], [], {}
        for at, (branch, slot) in enumerate(takers):
            self._deliver(branch, slot, results[at])
        return True

    def _deliver(self, branch: _Branch, slot: int, result: Any) -> None:
        """Give a branch one of the results that it waits for."""
        branch.results[slot] = result
        branch.missing -= 1
        if not branch.missing:
            self._ready.append((branch, branch.results[0] if branch.single else branch.results))

    def _end(self, branch: _Branch, value: Any) -> None:
        if branch.parent is None:
            self.result = value
        else:
            self._deliver(branch.parent, branch.slot, value)


def _noise_from_path(path: tuple[Any, ...]) -> int:
    """62 bits that are the same for the same path on every machine."""
    return int.from_bytes(blake2b(repr(path).encode(), digest_size=8).digest(), "big") >> 2
