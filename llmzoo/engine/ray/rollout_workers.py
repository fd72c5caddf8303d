"""Rollout workers: the process that plays, and the pool of them as the run sees it."""

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

from llmzoo.engine import wire
from llmzoo.engine.base import models_among, seeds_of_round
from llmzoo.engine.local import play_rollouts
from llmzoo.engine.ray.calls import MOST_DEATHS, Calls, Lost, Report, answer, opened, reporting
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.plan import Plan, settle_in
from llmzoo.engine.ray.weights import Bytes, take_up
from llmzoo.errors import WorkerError
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.scheduler import rollout_keys
from llmzoo.rollout.stepping import Clock

_CLOCK_FIELDS = [field.name for field in fields(Clock) if field.compare]


class RolloutWorker:
    """The process that plays shares of batches, with a copy of every model.

    Each call says everything that it depends on, so calls may come in any order.
    """

    plan: Plan
    learner: Learner
    agent_policies: dict[str, Policy]
    learning: dict[str, TransformersPolicy]

    @reporting(arrays=0)
    def start(self, plan: str, gpus: float, threads: int) -> Report:
        """Load the models; returns the id of this process."""
        self.plan = Plan.from_json(plan)
        settle_in(self.plan, gpus=gpus, threads=threads)
        self.learner = self.plan.make_learner()
        self.agent_policies, self.learning = self.plan.load_policies()
        self.names = {id(policy): name for name, policy in self.learning.items()}
        self.players = dict(self.learning)  # by the name of the policy that they play for
        self.version: int | None = None  # of the weights: the number of updates before
        return {"pid": os.getpid()}

    @reporting(arrays=1)
    def play(self, share: str, *weights: Bytes) -> tuple[Report, bytes]:
        """Play a share of a batch; returns its times and counts, and the share as a batch.

        ``share``: JSON of the rollouts' ``seeds`` and ``keys``, the seeds ``before`` them in the
        batch, the state of the ``learner`` before the batch, the ``noise`` of each model, torch's
        own ``seed``, and the ``version`` of ``weights``, which come one array an update worker.
        """
        told: dict[str, Any] = json.loads(share)
        if told["version"] != self.version:
            self.version = None  # until all of them are loaded
            for array in weights:
                self.players |= take_up(self.learning, array)
            self.version = told["version"]
        for policy, seed in zip(models_among(self.agent_policies), told["noise"], strict=True):
            policy.reseed(seed)
        torch.manual_seed(told["seed"])
        self.learner.load_state_dict(told["learner"])
        self.learner.skip(told["before"])
        clock = Clock()
        tokens = self._tokens()
        batch = play_rollouts(
            self.learner,
            [agent for agent, policy in self.agent_policies.items() if id(policy) in self.names],
            self.plan.make_env,
            told["seeds"],
            [tuple(key) for key in told["keys"]],
            self._playing(),
            cohorts=self.plan.cohorts,
            workers=self.plan.workers,
            clock=clock,
        )
        took = {name: getattr(clock, name) for name in _CLOCK_FIELDS}
        return {"clock": took, "tokens": self._tokens() - tokens}, wire.dump(batch)

    def _playing(self) -> dict[str, Policy]:
        """The policy that plays each agent."""
        agent_policies = {
            agent: self.players[self.names[id(policy)]] if id(policy) in self.names else policy
            for agent, policy in self.agent_policies.items()
        }
        return dict(self.learner.players(agent_policies))

    def _tokens(self) -> int:
        """Sampled so far by the policies that learn and their players."""
        players = {id(p): p for p in (*self.learning.values(), *self.players.values())}
        return sum(player.tokens_sampled for player in players.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Weights that play: the number of updates before, and one array for each update worker."""

    number: int
    references: tuple[Any, ...]  # in the object store
    kept: tuple[Any, ...] = ()  # views, which keep a copy on this machine


@dataclass(slots=True, eq=False, kw_only=True)
class Order:
    """Rollouts to be played in shares, with the report and the batch of each share that is done.

    ``told``: what the worker of every share is told. ``ended``: called once all shares are done.
    """

    seeds: Sequence[int]
    keys: Sequence[Any]
    shares: Sequence[range]
    version: Version
    told: dict[str, Any]
    ended: Callable[[], None]
    played: dict[int, tuple[Report, bytes]] = field(default_factory=dict)
    started: float = 0.0  # when the first share was handed out
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
    """Hands out shares in order to free workers, and hands out again the shares of dead ones.

    The keys of its rollouts fix what a share gives, so the worker and the number of attempts do not
    matter. Only one answer is used for each share.
    """

    def __init__(
        self,
        calls: Calls,
        make: Callable[[int], Any],
        told: Sequence[Any],
        *,
        count: int,
        seconds: float,
    ):
        self._calls, self._make, self._told, self._seconds = calls, make, told, seconds
        self._todo: deque[tuple[Order, int]] = deque()
        self._orders: list[Order] = []  # those that are not complete
        self._free: list[_Worker] = []
        self._deaths: Counter[Any] = Counter()
        self._count = count
        self.workers: dict[int, _Worker] = {}
        for number in range(count):
            self._hire(number)

    @property
    def started(self) -> bool:
        """Whether every worker is ready."""
        return sum(worker.pid is not None for worker in self.workers.values()) == self._count

    def add(self, order: Order) -> None:
        self._orders.append(order)
        self._todo.extend((order, share) for share in range(len(order.shares)))
        self._hand_out()

    def forget(self) -> None:
        """Drop all orders."""
        self._todo.clear()
        for order in self._orders:
            order.wanted = False
        self._orders.clear()

    def close(self) -> None:
        """End every worker."""
        for worker in self.workers.values():
            ray.kill(worker.handle)

    def _hire(self, number: int) -> None:
        worker = self.workers[number] = _Worker(number, self._make(number))
        reference = worker.handle.start.remote(*self._told)
        self._calls.add(
            reference,
            partial(self._hired, worker, reference),
            seconds=self._seconds,
            late=partial(self._too_late, worker),
        )

    def _hired(self, worker: _Worker, reference: Any) -> None:
        try:
            (text,) = answer([reference])
        except Lost as lost:
            self._replace(worker, ("start", worker.number), "its start", lost)
            return
        worker.pid = opened(text, str(worker))["pid"]
        del self._deaths["start", worker.number]
        self._free.append(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._todo and self._free:
            order, share = self._todo.popleft()
            order.started = order.started or time.monotonic()
            worker = self._free.pop(0)
            rollouts = order.shares[share]
            told = {
                **order.told,
                "seeds": [order.seeds[i] for i in rollouts],
                "keys": [order.keys[i] for i in rollouts],
                "before": list(order.seeds[: rollouts.start]),
                "version": order.version.number,
            }
            references = worker.handle.play.options(num_returns=2).remote(
                json.dumps(told), *order.version.references
            )
            self._calls.add(references[0], partial(self._played, worker, order, share, references))

    def _played(self, worker: _Worker, order: Order, share: int, references: list[Any]) -> None:
        try:
            text, data = answer(references)
        except Lost as lost:
            if order.wanted:
                self._todo.appendleft((order, share))
            self._replace(worker, (id(order), share), f"share {share} of a batch", lost)
            return
        self._free.append(worker)
        if order.wanted:
            order.played[share] = (opened(text, str(worker)), data)
            del self._deaths[id(order), share]
            if len(order.played) == len(order.shares):
                self._orders.remove(order)
                order.ended()
        self._hand_out()

    def _replace(self, worker: _Worker, work: Any, called: str, lost: Lost) -> None:
        ray.kill(worker.handle)
        self._deaths[work] += 1
        if self._deaths[work] >= MOST_DEATHS:
            raise WorkerError(
                f"{MOST_DEATHS} rollout workers have died at {called}, the last was {worker}: {lost}"
            ) from lost
        self._hire(worker.number)
        self._hand_out()

    def _too_late(self, worker: _Worker) -> None:
        raise WorkerError(
            f"{worker} was not ready after {self._seconds:.0f} s: raise start_seconds if it loads "
            "large models; if it replaces one that died, the cluster may have no room left"
        )


class BatchInPlay:
    """A batch that the pool plays, and plays on while the learner wants more.

    Once it has ``ended``: the ``batch``, the seeds ``played`` for it, and its times and counts.
    ``clock``: seconds are those of one worker, on average; counts are of all.
    """

    def __init__(
        self,
        pool: RolloutPool,
        learner: Learner,
        args: RayArgs,
        *,
        seeds: Sequence[int],
        version: Version,
        told: dict[str, Any],
    ):
        self.batch = Batch()
        self.clock = Clock()
        self.tokens = 0
        self.seconds = 0.0
        self.played: list[int] = []
        self.ended = False
        self._pool, self._learner, self._args = pool, learner, args
        self._seeds, self._version, self._told = seeds, version, told
        self._rounds = 0
        self._begin(seeds)

    def _begin(self, seeds: Sequence[int]) -> None:
        told = {**self._told, "learner": self._learner.state_dict()}
        self._learner.skip(seeds)
        self.played += seeds
        self._order = Order(
            seeds=seeds,
            keys=rollout_keys(seeds),
            shares=self._args.parts(len(seeds)),
            version=self._version,
            told=told,
            ended=self._complete,
        )
        self._pool.add(self._order)

    def _complete(self) -> None:
        """A round has been played."""
        order = self._order
        self.seconds += time.monotonic() - order.started
        parts = [order.played[share] for share in range(len(order.shares))]
        at_once = min(self._args.rollout_workers, len(parts))
        for report, _ in parts:
            self.tokens += report["tokens"]
            for name, value in report["clock"].items():
                share = value / at_once if name.endswith("_seconds") else value
                setattr(self.clock, name, getattr(self.clock, name) + share)
        self.batch = Batch.joined([self.batch, *(wire.load(data) for _, data in parts)])
        if self._learner.wants_more(self.batch, self._rounds):
            self._rounds += 1
            self._begin(seeds_of_round(self._seeds, self._rounds))
        else:
            self.ended = True
