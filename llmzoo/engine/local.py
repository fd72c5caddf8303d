"""Rollouts and updates in this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.scheduler import Clock, run


class LocalEngine:
    """Plays, and hands what was played to the learner's updater.

    ``policies``: those that learn, by name. ``seats``: the policy of every seat, learning or not.
    ``total_steps``: iterations of the whole run, for the schedule.
    """

    def __init__(
        self,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        self.learner = learner
        self.policies = dict(policies)
        self.seats = dict(seats)
        self.trained = [
            agent
            for agent, policy in seats.items()
            if any(policy is learning for learning in policies.values())
        ]
        if not self.trained:
            raise ConfigError("no seat is taken by a policy that learns")
        self.updater = learner.updater(self.policies, self.seats, total_steps=total_steps)
        self.clock = Clock()  # of the last batch that was collected

    def collect(self, env_fn: Callable[[], AECEnv], seeds: Sequence[int]) -> Batch:
        """Play one line from each seed, all at once; and on while the updater wants more."""
        self.clock = Clock()
        batch = self._play(env_fn, seeds)
        rounds = 0
        while self.updater.wants_more(batch, rounds):
            rounds += 1
            rng = random.Random(f"{seeds[0]}/again/{rounds}")
            more = self._play(env_fn, [rng.getrandbits(31) for _ in seeds])
            batch = Batch.joined([batch, more])
        return batch

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        """Learn from a batch; ``seed`` fixes all chance in it. Returns metrics."""
        return self.updater.update(batch, seed=seed)

    def save(self, folder: Path) -> None:
        """Write all that a run's next iteration depends on into an existing folder."""
        for name, policy in self.policies.items():
            policy.save(folder / name)
        self.updater.save(folder)

    def load(self, folder: Path) -> None:
        """Take up what :meth:`save` wrote."""
        for name, policy in self.policies.items():
            policy.load_weights(folder / name)
        self.updater.load(folder)

    def _play(self, env_fn: Callable[[], AECEnv], seeds: Sequence[int]) -> Batch:
        envs = [env_fn() for _ in seeds]
        for env, seed in zip(envs, seeds, strict=True):
            env.reset(seed=seed)
        lines = [
            self.learner.line(env, seed, self.trained)
            for env, seed in zip(envs, seeds, strict=True)
        ]
        return Batch.joined(run(lines, self.updater.players(), clock=self.clock))
