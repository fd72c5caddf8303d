"""Runs many rollouts concurrently and batches their requests into one call per policy.

A rollout is a generator. It yields what it needs and is sent the result:

* :class:`SampleRequest`: a group of completions for one agent -> a list of completions.
* a list of :class:`SampleRequest` -> a list of those lists (agents that act simultaneously).
* :class:`StepRequest`: actions to step an environment with -> each agent's reward.
* a list of :class:`StepRequest` -> a list of those rewards (forks of one state).
* a list of generators -> a list of their return values (branches of a tree).

All rollouts advance until each waits for a policy. Then every policy samples its whole batch in one
call. Environments with ``metadata["slow_step"]`` are stepped in threads, and those of a
:class:`RemoteHost` in one call per cohort. These steps overlap with sampling in two ways:

* ``early``: a rollout continues as soon as its own completions are finished, while the same call still
  samples longer ones (``on_complete`` of :meth:`llmzoo.policies.base.Policy.respond`) or another policy samples. This
  costs nothing. It hides the steps of every rollout except those whose completions finish last.
* ``cohorts``: the rollouts are split into cohorts that are sampled alternately. One cohort steps while
  another is sampled. This hides all steps that are shorter than a call, but there are more calls, and
  they are smaller. It is worthwhile only if steps take longer than the fixed cost of a call.

The order in which steps finish has no effect: cohorts are fixed and alternate in a fixed order. A
policy gets the same requests in each call for any number of threads, and the same seeds give
bitwise identical rollouts. The ``noise`` of a request is a hash of its rollout's key and its
position in that rollout. So other rollouts and cohorts change completions only by rounding.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from threading import Condition, Event
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import JointlySampled, Policy, PolicyRequest
from llmzoo.records import Completion
from llmzoo.rollout.stepping import RemoteHost, RolloutClock, StepRequest, get_remote_host


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """``group_size`` completions for one request (one greedy completion with ``greedy``)."""

    request: PolicyRequest
    group_size: int = 1
    greedy: bool = False


def build_request(env: AECEnv, agent: str, seed: int) -> PolicyRequest:
    """The request to a policy for ``agent`` in the current state of the episode."""
    return PolicyRequest(agent=agent, observation=env.observe(agent) or "", env=env, seed=seed)


Rollout = Generator[Any, Any, Any]
RolloutKey = int | str | tuple[int | str, ...]  # seeds the randomness of a rollout


def rollout_keys(seeds: Sequence[int]) -> list[RolloutKey]:
    """A key for the rollout of each seed: the seed, and how often it has occurred before.

    A batch that is split over processes samples the same completions as the whole batch.
    """
    before: Counter[int] = Counter()
    keys: list[RolloutKey] = []
    for seed in seeds:
        keys.append((seed, before[seed]))
        before[seed] += 1
    return keys


class RolloutsStopped(Exception):
    """A run was stopped before its end."""


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
    """Run all rollouts to their end. Returns their return values, in order.

    ``keys``: a distinct key for each rollout, by default its index. Rollouts with the same key
    sample the same completions in any run. ``early``: rollouts continue in threads as soon as they
    can. ``cohorts``: into how many cohorts the rollouts are split. ``workers``: the number of
    threads, and so of slow environments stepped concurrently. ``clock``: its times and counts are
    increased. ``stop``: once it is set, :class:`RolloutsStopped` is raised before the next call of
    a policy.

    An exception in a rollout, a policy or a step ends the run, after the steps that are already
    running. No other steps are started.
    """
    clock = RolloutClock() if clock is None else clock
    keys = range(len(rollouts)) if keys is None else keys
    if len(set(keys)) < len(keys):
        duplicate_key = next(key for key in keys if list(keys).count(key) > 1)
        raise ValueError(
            f"two rollouts have the key {duplicate_key!r} and would sample the same completions"
        )
    if cohorts < 1 or workers < 1:
        raise ValueError(f"cohorts and workers must be at least 1, got {cohorts} and {workers}")
    running = [RunningRollout(r, key) for r, key in zip(rollouts, keys, strict=True)]
    scheduler = _Scheduler(agent_policies, workers, clock, early=early)
    try:
        queue = deque(_Cohort(running[first::cohorts]) for first in range(cohorts))
        for cohort in queue:
            scheduler.start(cohort)
        while queue:
            cohort = queue.popleft()
            with clock.waiting():
                scheduler.wait(cohort)
            cohort.rollouts = [rollout for rollout in cohort.rollouts if rollout.pending_requests]
            if stop is not None and stop.is_set():
                raise RolloutsStopped
            if cohort.rollouts:
                scheduler.sample(cohort)
                queue.append(cohort)
    finally:
        scheduler.stop()
    return [rollout.result for rollout in running]


def has_slow_steps(envs: Iterable[AECEnv]) -> bool:
    """Whether any environment declares that its steps are slow enough to run in threads."""
    return any(env.metadata.get("slow_step", False) for env in envs)


_Step = tuple["RunningRollout", int, StepRequest]  # (rollout, index of the step, the step)


@dataclass(slots=True)
class _Cohort:
    """Rollouts that are sampled together.

    ``active``: how many of its rollouts are being sampled or are running, plus its steps in threads
    and its calls to remote hosts. ``remote``: the steps for each remote host, which are submitted
    once nothing else is active.
    """

    rollouts: list[RunningRollout]
    active: int = 0
    remote: dict[RemoteHost, list[_Step]] = field(default_factory=dict)


class _Scheduler:
    """Calls policies, and steps environments until every rollout waits for a policy or has ended.

    Slow steps run in threads. Only one thread at a time uses a rollout: the caller's until the first
    slow step (with ``early`` a thread from the start), then the thread that ran the last of its
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
        """Start all rollouts of a cohort."""
        cohort.active = len(cohort.rollouts)
        for rollout in cohort.rollouts:
            self._resume(cohort, rollout)

    def sample(self, cohort: _Cohort) -> None:
        """Sample the completions that the rollouts of a cohort wait for, and resume the rollouts."""
        cohort.active = len(cohort.rollouts)
        keys = {
            id(policy): policy.batch_key if isinstance(policy, JointlySampled) else id(policy)
            for policy in self._policies.values()
        }
        calls: dict[tuple[Hashable, int, bool], list[tuple[RunningRollout, int]]] = {}
        for rollout in cohort.rollouts:
            for number, sample_request in enumerate(rollout.pending_requests):
                key = keys[id(self._policies[sample_request.request.agent])]
                call = (key, sample_request.group_size, sample_request.greedy)
                calls.setdefault(call, []).append((rollout, number))
        for targets in calls.values():
            self._call_policy(cohort, targets)

    def _call_policy(self, cohort: _Cohort, targets: Sequence[tuple[RunningRollout, int]]) -> None:
        """Call one policy, or several jointly, for sample requests of one kind."""
        sample_requests = [rollout.pending_requests[number] for rollout, number in targets]
        requests = [sample_request.request for sample_request in sample_requests]
        policies = [self._policies[request.agent] for request in requests]
        policy = policies[0]
        group_size, greedy = sample_requests[0].group_size, sample_requests[0].greedy
        delivered: set[int] = set()

        def deliver(index: int, completions: list[Completion]) -> None:
            delivered.add(index)
            rollout, number = targets[index]
            if rollout.complete_sample(number, completions):
                self._resume(cohort, rollout)

        with self._clock.sampling():
            respond = policy.respond
            if isinstance(policy, JointlySampled) and len(set(map(id, policies))) > 1:
                respond = partial(policy.respond_jointly, policies)
            on_complete = deliver if self._early else None
            groups = respond(requests, group_size, greedy=greedy, on_complete=on_complete)
        self._clock.answers += sum(map(len, groups))
        for index, (_, completions) in enumerate(zip(targets, groups, strict=True)):
            if index not in delivered:
                deliver(index, completions)

    def wait(self, cohort: _Cohort) -> None:
        """Return once every rollout of a cohort waits for a policy or has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not cohort.active)
            if self._error is not None:
                raise self._error

    def stop(self) -> None:
        """Start no further steps, and wait for those that are running."""
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)

    def _resume(self, cohort: _Cohort, rollout: RunningRollout) -> None:
        """Advance a rollout, with ``early`` in a thread."""
        if self._early:
            self._submit(self._advance, cohort, rollout)
        else:
            self._advance(cohort, rollout)

    def _advance(self, cohort: _Cohort, rollout: RunningRollout) -> None:
        """Run a rollout and its fast steps until it waits for anything else; submit its slow steps."""
        rollout.advance()
        while rollout.step_requests and not any(
            step.slow or get_remote_host(step) for step in rollout.step_requests
        ):
            for number, step in enumerate(rollout.step_requests):
                rollout.complete_step(number, self._step(step))
            rollout.advance()
        with self._changed:
            for number, step in enumerate(rollout.step_requests):
                host = get_remote_host(step)
                if host is not None:
                    cohort.remote.setdefault(host, []).append((rollout, number, step))
                else:
                    cohort.active += 1
                    self._submit(self._step_locally, cohort, rollout, number, step)
        self._finish_activity(cohort)

    def _step(self, step: StepRequest) -> Any:
        """Step an environment in this thread."""
        try:
            return self._clock.time_steps(
                lambda: step.step_fn(step.env, step.texts), len(step.texts)
            )
        except Exception as error:
            if sys.version_info >= (3, 11):
                error.add_note(f"in a step of {step.env}")
            raise

    def _step_locally(
        self, cohort: _Cohort, rollout: RunningRollout, number: int, step: StepRequest
    ) -> None:
        self._deliver_results(cohort, [(rollout, number, self._step(step))])

    def _step_remotely(self, cohort: _Cohort, host: RemoteHost, steps: Sequence[_Step]) -> None:
        requests = [step for _, _, step in steps]
        count = sum(len(step.texts) for step in requests)
        results = self._clock.time_steps(lambda: host.step_all(requests), count)
        done = zip(steps, results, strict=True)
        self._deliver_results(
            cohort, [(rollout, number, result) for (rollout, number, _), result in done]
        )

    def _deliver_results(
        self, cohort: _Cohort, results: Sequence[tuple[RunningRollout, int, Any]]
    ) -> None:
        """Pass results of steps to their rollouts, and advance those whose steps are all complete."""
        with self._changed:
            complete = [r for r, number, result in results if r.complete_step(number, result)]
            cohort.active += len(complete)
        for rollout in complete:
            if not self._stopped:
                self._advance(cohort, rollout)
        self._finish_activity(cohort)

    def _finish_activity(self, cohort: _Cohort) -> None:
        """Count one of a cohort's activities as ended; after the last, submit its remote steps."""
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
        except BaseException as error:  # wait() raises it again
            with self._changed:
                self._error = self._error or error
                self._stopped = True
                self._changed.notify_all()


@dataclass(slots=True)
class _Branch:
    generator: Rollout
    path: tuple[Any, ...]  # the rollout's key, then (yield, slot) in each branch on the way here
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
    """A rollout with its branches. The caller supplies its completions and the results of its steps.

    Its branches run in a fixed order, whatever other rollouts do meanwhile. Only one thread at a
    time may use it.
    """

    def __init__(self, rollout: Rollout, key: RolloutKey):
        self.result: Any = None
        self._pending_steps = _Pending()
        self._pending_samples = _Pending()
        self._ready: deque[tuple[_Branch, Any]] = deque([(_Branch(rollout, (key,)), None)])

    @property
    def pending_requests(self) -> list[SampleRequest]:
        """The groups of completions that the rollout waits for."""
        return self._pending_samples.operations

    @property
    def step_requests(self) -> list[StepRequest]:
        """The steps that the rollout waits for. They run before any of ``pending_requests`` are sampled."""
        return self._pending_steps.operations

    def advance(self) -> None:
        """Run every branch until it waits for a step or a completion, or has ended."""
        while self._ready:
            branch, value = self._ready.popleft()
            try:
                yielded = branch.generator.send(value)
            except StopIteration as stop:
                self._end(branch, stop.value)
                continue
            branch.single = not isinstance(yielded, list)
            operations = [yielded] if branch.single else yielded
            branch.results = [None] * len(operations)
            branch.missing = len(operations)
            if not operations:
                self._ready.append((branch, []))
            for slot, operation in enumerate(operations):
                path = (*branch.path, (branch.yield_count, slot))
                if isinstance(operation, SampleRequest):
                    request = replace(operation.request, noise=_noise_from_path(path))
                    self._pending_samples.operations.append(replace(operation, request=request))
                    self._pending_samples.recipients.append((branch, slot))
                elif isinstance(operation, StepRequest):
                    self._pending_steps.operations.append(operation)
                    self._pending_steps.recipients.append((branch, slot))
                else:
                    self._ready.append((_Branch(operation, path, branch, slot), None))
            branch.yield_count += 1

    def complete_step(self, number: int, result: Any) -> bool:
        """Record the result of step ``number``. Returns whether it was the last of ``step_requests``."""
        return self._complete(self._pending_steps, number, result)

    def complete_sample(self, number: int, completions: list[Completion]) -> bool:
        """Record the completions of sample ``number``. Returns whether it was the last of ``pending_requests``."""
        return self._complete(self._pending_samples, number, completions)

    def _complete(self, pending: _Pending, number: int, result: Any) -> bool:
        """Record a result; after the last one, deliver all of them to their branches in order."""
        pending.results[number] = result
        if len(pending.results) < len(pending.operations):
            return False
        recipients, results = pending.recipients, pending.results
        pending.operations, pending.recipients, pending.results = [], [], {}
        for index, (branch, slot) in enumerate(recipients):
            self._deliver(branch, slot, results[index])
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
    """A 62-bit hash of a path, the same on every machine."""
    return int.from_bytes(blake2b(repr(path).encode(), digest_size=8).digest(), "big") >> 2
