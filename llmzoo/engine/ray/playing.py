"""A batch on its way: played, and played on while the learner wants more of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from llmzoo.engine import wire
from llmzoo.engine.playing import seeds_of_round
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.rollouts import Order, Rollouts, Version
from llmzoo.learners.base import Learner
from llmzoo.records import Batch
from llmzoo.rollout.clock import Clock
from llmzoo.rollout.scheduler import rollout_keys


class Playing:
    """Once it has ``ended``: the ``batch``, the seeds ``played`` for it, and what that took.

    ``clock``: seconds are those of one worker, on average; counts are of all.
    """

    def __init__(
        self,
        rollouts: Rollouts,
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
        self._rollouts, self._learner, self._args = rollouts, learner, args
        self._seeds, self._version, self._told = seeds, version, told
        self._rounds = 0
        self._begin(seeds)

    def _begin(self, seeds: Sequence[int]) -> None:
        told = {**self._told, "learner": self._learner.state_dict()}
        self._learner.skip(seeds)
        self.played += seeds
        self._order = Order(
            seeds=seeds,
            names=rollout_keys(seeds),
            shares=self._args.parts(len(seeds)),
            version=self._version,
            told=told,
            ended=self._complete,
        )
        self._rollouts.add(self._order)

    def _complete(self) -> None:
        """A round has been played."""
        order = self._order
        self.seconds += time.monotonic() - order.started
        parts = [order.found[share] for share in range(len(order.shares))]
        at_once = min(self._args.rollout_workers, len(parts))
        for report, _ in parts:
            self.tokens += report["tokens"]
            took = Clock(**report["clock"])
            self.clock.answers += took.answers
            self.clock.steps += took.steps
            self.clock.sampling_seconds += took.sampling_seconds / at_once
            self.clock.waiting_seconds += took.waiting_seconds / at_once
            self.clock.step_seconds += took.step_seconds / at_once
            self.clock.overlapped_seconds += took.overlapped_seconds / at_once
        self.batch = Batch.joined([self.batch, *(wire.load(data) for _, data in parts)])
        if self._learner.wants_more(self.batch, self._rounds):
            self._rounds += 1
            self._begin(seeds_of_round(self._seeds, self._rounds))
        else:
            self.ended = True
