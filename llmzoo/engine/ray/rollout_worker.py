"""The process that plays: environments, and a copy of every model to sample from."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from llmzoo.engine import wire
from llmzoo.engine.playing import Play, models_among
from llmzoo.engine.ray.parcels import Bytes
from llmzoo.engine.ray.plan import Plan, settle_in
from llmzoo.engine.ray.reports import Report, reporting
from llmzoo.engine.ray.weights import take_up
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.rollout.clock import Clock


class RolloutWorker:
    """Plays shares of batches. What it is told with each says all: it may come after any other."""

    plan: Plan
    learner: Learner
    seats: dict[str, Policy]
    learning: dict[str, TransformersPolicy]

    @reporting(arrays=0)
    def start(self, plan: str, gpus: float, threads: int) -> Report:
        """Load the models; returns which process this is."""
        self.plan = Plan.from_json(plan)
        settle_in(self.plan, gpus=gpus, threads=threads)
        self.learner = self.plan.make_learner()
        self.seats, self.learning = self.plan.take_seats()
        self.names = {id(policy): name for name, policy in self.learning.items()}
        self.players = dict(self.learning)  # by the name of the policy in whose place they play
        self.version: int | None = None  # of the weights: how many updates they have been through
        return {"pid": os.getpid()}

    @reporting(arrays=1)
    def play(self, share: str, *weights: Bytes) -> tuple[Report, bytes]:
        """Play lines of a batch; returns what it took, and the batch that they give.

        ``share``: JSON of the lines' ``seeds`` and ``names``, the seeds ``before`` them in the
        batch, the ``place`` of the batch's first, the ``noise`` of each model and torch's own
        ``seed``, and the ``version`` of the ``weights``, of which each update worker gives its own.
        """
        told: dict[str, Any] = json.loads(share)
        self._take_up(told["version"], weights)
        for policy, seed in zip(models_among(self.seats), told["noise"], strict=True):
            policy.reseed(seed)
        torch.manual_seed(told["seed"])
        self.learner.load_state_dict(told["learner"])
        self.learner.skip(told["before"])
        clock = Clock()
        tokens = self._tokens()
        batch = Play(
            learner=self.learner,
            trained=[agent for agent, policy in self.seats.items() if id(policy) in self.names],
            cohorts=self.plan.cohorts,
            workers=self.plan.workers,
        )(
            self.plan.make_env,
            told["seeds"],
            [tuple(name) for name in told["names"]],
            self._playing(),
            clock,
        )
        took = {"clock": clock_to_json(clock), "tokens": self._tokens() - tokens}
        return took, wire.dump(batch)

    def _take_up(self, version: int, weights: Sequence[Bytes]) -> None:
        if version == self.version:
            return
        self.version = None  # until all of them are in place
        for parcel in weights:
            self.players |= take_up(self.learning, parcel)
        self.version = version

    def _playing(self) -> dict[str, Policy]:
        """Who sits in each seat."""
        seats = {
            agent: self.players[self.names[id(policy)]] if id(policy) in self.names else policy
            for agent, policy in self.seats.items()
        }
        return dict(self.learner.players(seats))

    def _tokens(self) -> int:
        """That the policies that learn have sampled, or who plays in their place."""
        players = {id(p): p for p in (*self.learning.values(), *self.players.values())}
        return sum(player.tokens_sampled for player in players.values())


_COUNTED = [field.name for field in fields(Clock) if field.compare]


def clock_to_json(clock: Clock) -> dict[str, float]:
    return {name: getattr(clock, name) for name in _COUNTED}
