"""Rollout workers: the process that plays, and the pool that distributes work to them."""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import ray
import torch

from llmzoo.engine.base import distinct_models, seeds_for_round
from llmzoo.engine.local import play_rollouts
from llmzoo.engine.ray.calls import (
    MAX_DEATHS,
    PendingCalls,
    Report,
    WorkerLostError,
    get_results,
    read_report,
    returns_report,
)
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.run_spec import RunSpec, set_up_worker
from llmzoo.engine.ray.weights import Bytes, load_rollout_weights
from llmzoo.errors import WorkerError
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, wire
from llmzoo.rollout.scheduler import rollout_keys
from llmzoo.rollout.stepping import RolloutClock, choose_boards

_CLOCK_FIELDS = [field.name for field in fields(RolloutClock) if field.compare]


class RolloutWorker:
    """The process that plays shares of batches, with a copy of every model.

    A call contains everything that its result depends on, so calls may come in any order.
    """

    run_spec: RunSpec
    learner: Learner
    agent_policies: dict[str, Policy]
    learning: dict[str, TransformersPolicy]

    @returns_report(arrays=0)
    def start(self, run_spec: str, gpus: float, threads: int) -> Report:
        """Load the models; returns the id of this process."""
        self.run_spec = RunSpec.from_json(run_spec)
        set_up_worker(self.run_spec, gpus=gpus, threads=threads)
        self.learner = self.run_spec.make_learner()
        self.agent_policies, self.learning = self.run_spec.load_policies()
        self.policy_names = {id(policy): name for name, policy in self.learning.items()}
        self.rollout_policies = dict(self.learning)  # that play for the learning policies, by name
        self.version: int | None = None  # of the weights: the number of updates before
        return {"pid": os.getpid()}

    @returns_report(arrays=1)
    def play(self, share: str, *weights: Bytes) -> tuple[Report, bytes]:
        """Play a share of a batch; returns its times and counts, and the share as a batch.

        ``share``: JSON of the rollouts' ``seeds`` and ``keys``, the seeds ``before`` them in the
        batch, the state of the ``learner`` before the batch, the ``noise`` seed of each model, the
        ``seed`` of torch, whether to keep ``boards``, and the ``version`` of ``weights``. ``weights``: one
        array per update worker.
        """
        request: dict[str, Any] = json.loads(share)
        if request["version"] != self.version:
            self.version = None  # until all of them are loaded
            for array in weights:
                self.rollout_policies |= load_rollout_weights(self.learning, array)
            self.version = request["version"]
        for policy, seed in zip(
            distinct_models(self.agent_policies), request["noise"], strict=True
        ):
            policy.reseed(seed)
        torch.manual_seed(request["seed"])
        self.learner.plan.load_state_dict(request["learner"])
        self.learner.plan.skip(request["before"])
        clock = RolloutClock()
        tokens = self._count_tokens()
        batch = play_rollouts(
            self.learner,
            [
                agent
                for agent, policy in self.agent_policies.items()
                if id(policy) in self.policy_names
            ],
            choose_boards(self.run_spec.make_env, request["boards"]),
            request["seeds"],
            [tuple(key) for key in request["keys"]],
            self._rollout_policies(),
            cohorts=self.run_spec.cohorts,
            workers=self.run_spec.workers,
            clock=clock,
        )
        times = {name: getattr(clock, name) for name in _CLOCK_FIELDS}
        return {"clock": times, "tokens": self._count_tokens() - tokens}, wire.dump(batch)

    def _rollout_policies(self) -> dict[str, Policy]:
        """The policy that plays each agent."""
        agent_policies = {
            agent: self.rollout_policies[self.policy_names[id(policy)]]
            if id(policy) in self.policy_names
            else policy
            for agent, policy in self.agent_policies.items()
        }
        return dict(self.learner.plan.rollout_policies(agent_policies))

    def _count_tokens(self) -> int:
        """The tokens sampled so far by the learning policies and those that play for them."""
        rollout_policies = {
            id(p): p for p in (*self.learning.values(), *self.rollout_policies.values())
        }
        return sum(player.tokens_sampled for player in rollout_policies.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsVersion:
    """Weights for rollouts. ``number``: how many versions came before. One array per update worker."""

    number: int
    references: tuple[Any, ...]  # in the object store
    local_views: tuple[Any, ...] = ()  # views of the arrays, which keep a copy on this machine


@dataclass(slots=True, eq=False, kw_only=True)
class RolloutOrder:
    """Rollouts to play in shares. ``results``: the report and the batch of each completed share.

    ``request``: the part of the request that all shares have in common. ``on_done`` is called once all
    shares are complete.
    """

    seeds: Sequence[int]
    keys: Sequence[Any]
    shares: Sequence[range]
    version: WeightsVersion
    request: dict[str, Any]
    on_done: Callable[[], None]
    results: dict[int, tuple[Report, bytes]] = field(default_factory=dict)
    started: float = 0.0  # when the first share was assigned
    wanted: bool = True


@dataclass(slots=True, eq=False)
class _Worker:
    number: int
    handle: Any
    pid: int | None = None

    def __str__(self) -> str:
        process = "" if self.pid is None else f" (process {self.pid})"
        return f"rollout worker {self.number}{process}"


class RolloutPool:
    """Assigns shares in order to free workers, and assigns those of dead workers again.

    The result of a share depends only on the keys of its rollouts, not on the worker or the number of
    attempts. Only one result is used for each share.
    """

    def __init__(
        self,
        calls: PendingCalls,
        start_process: Callable[[int], Any],
        start_args: Sequence[Any],
        *,
        count: int,
        seconds: float,
    ):
        self._calls, self._start_process, self._start_args, self._seconds = (
            calls,
            start_process,
            start_args,
            seconds,
        )
        self._todo: deque[tuple[RolloutOrder, int]] = deque()
        self._orders: list[RolloutOrder] = []  # those that are not complete
        self._free: list[_Worker] = []
        self._deaths: Counter[Any] = Counter()
        self._count = count
        self.workers: dict[int, _Worker] = {}
        for number in range(count):
            self._start_worker(number)

    @property
    def is_ready(self) -> bool:
        """Whether every worker is ready."""
        return sum(worker.pid is not None for worker in self.workers.values()) == self._count

    def add(self, order: RolloutOrder) -> None:
        self._orders.append(order)
        self._todo.extend((order, share) for share in range(len(order.shares)))
        self._dispatch()

    def drop_all(self) -> None:
        """Drop all orders."""
        self._todo.clear()
        for order in self._orders:
            order.wanted = False
        self._orders.clear()

    def close(self) -> None:
        """End every worker."""
        for worker in self.workers.values():
            ray.kill(worker.handle)

    def _start_worker(self, number: int) -> None:
        worker = self.workers[number] = _Worker(number, self._start_process(number))
        reference = worker.handle.start.remote(*self._start_args)
        self._calls.add(
            reference,
            partial(self._on_started, worker, reference),
            seconds=self._seconds,
            on_timeout=partial(self._raise_start_timeout, worker),
        )

    def _on_started(self, worker: _Worker, reference: Any) -> None:
        try:
            (text,) = get_results([reference])
        except WorkerLostError as lost:
            self._replace(worker, ("start", worker.number), "its start", lost)
            return
        worker.pid = read_report(text, str(worker))["pid"]
        del self._deaths["start", worker.number]
        self._free.append(worker)
        self._dispatch()

    def _dispatch(self) -> None:
        while self._todo and self._free:
            order, share = self._todo.popleft()
            order.started = order.started or time.monotonic()
            worker = self._free.pop(0)
            rollouts = order.shares[share]
            request = {
                **order.request,
                "seeds": [order.seeds[i] for i in rollouts],
                "keys": [order.keys[i] for i in rollouts],
                "before": list(order.seeds[: rollouts.start]),
                "version": order.version.number,
            }
            references = worker.handle.play.options(num_returns=2).remote(
                json.dumps(request), *order.version.references
            )
            self._calls.add(
                references[0], partial(self._on_share_done, worker, order, share, references)
            )

    def _on_share_done(
        self, worker: _Worker, order: RolloutOrder, share: int, references: list[Any]
    ) -> None:
        try:
            text, data = get_results(references)
        except WorkerLostError as lost:
            if order.wanted:
                self._todo.appendleft((order, share))
            self._replace(worker, (id(order), share), f"share {share} of a batch", lost)
            return
        self._free.append(worker)
        if order.wanted:
            order.results[share] = (read_report(text, str(worker)), data)
            del self._deaths[id(order), share]
            if len(order.results) == len(order.shares):
                self._orders.remove(order)
                order.on_done()
        self._dispatch()

    def _replace(self, worker: _Worker, work: Any, description: str, lost: WorkerLostError) -> None:
        ray.kill(worker.handle)
        self._deaths[work] += 1
        if self._deaths[work] >= MAX_DEATHS:
            raise WorkerError(
                f"{MAX_DEATHS} rollout workers have died during {description}; the last was {worker}: {lost}"
            ) from lost
        self._start_worker(worker.number)
        self._dispatch()

    def _raise_start_timeout(self, worker: _Worker) -> None:
        raise WorkerError(
            f"{worker} was not ready after {self._seconds:.0f} s: raise start_seconds if it loads "
            "large models; if it replaces one that died, the cluster may have no room left"
        )


class BatchRollout:
    """A batch that the pool plays, with additional rollouts while the learner wants more.

    Once ``has_ended`` is true, ``batch``, ``played_seeds``, ``tokens``, ``seconds`` and ``clock`` are complete.
    The seconds of ``clock`` are the average over workers, and its counts are the sum.
    """

    def __init__(
        self,
        pool: RolloutPool,
        learner: Learner,
        args: RayArgs,
        *,
        seeds: Sequence[int],
        version: WeightsVersion,
        request: dict[str, Any],
    ):
        self.batch = Batch()
        self.clock = RolloutClock()
        self.tokens = 0
        self.seconds = 0.0
        self.played_seeds: list[int] = []
        self.has_ended = False
        self._pool, self._learner, self._args = pool, learner, args
        self._seeds, self._version, self._request = seeds, version, request
        self._rounds = 0
        self._begin(seeds)

    def _begin(self, seeds: Sequence[int]) -> None:
        request = {**self._request, "learner": self._learner.plan.state_dict()}
        self._learner.plan.skip(seeds)
        self.played_seeds += seeds
        self._order = RolloutOrder(
            seeds=seeds,
            keys=rollout_keys(seeds),
            shares=self._args.split_batch(len(seeds)),
            version=self._version,
            request=request,
            on_done=self._complete,
        )
        self._pool.add(self._order)

    def _complete(self) -> None:
        """Add the results of an order, and order more rollouts if the learner wants them."""
        order = self._order
        self.seconds += time.monotonic() - order.started
        share_results = [order.results[share] for share in range(len(order.shares))]
        concurrent_shares = min(self._args.rollout_workers, len(share_results))
        for report, _ in share_results:
            self.tokens += report["tokens"]
            for name, value in report["clock"].items():
                amount = value / concurrent_shares if name.endswith("_seconds") else value
                setattr(self.clock, name, getattr(self.clock, name) + amount)
        self.batch = Batch.concatenate(
            [self.batch, *(wire.load(data) for _, data in share_results)]
        )
        if self._learner.wants_more(self.batch, self._rounds):
            self._rounds += 1
            self._begin(seeds_for_round(self._seeds, self._rounds))
        else:
            self.has_ended = True
