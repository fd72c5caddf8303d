"""Plays lines of a batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from pettingzoo import AECEnv

from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.clock import Clock
from llmzoo.rollout.scheduler import RolloutKey, run, slow_steps


def models_among(seats: Mapping[str, Policy]) -> list[TransformersPolicy]:
    """All that sample among some seats, those that do not learn too, in the order of seats."""
    found = [p for p in seats.values() if isinstance(p, TransformersPolicy)]
    return list({id(policy): policy for policy in found}.values())


def seeds_of_round(seeds: Sequence[int], round: int) -> list[int]:
    """Whence a batch of ``seeds`` is played on, the first time (1), the second and so on."""
    rng = random.Random(f"{seeds[0]}/again/{round}")
    return [rng.getrandbits(31) for _ in seeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a learner's lines are played.

    ``trained``: the seats that learn. ``cohorts``, ``workers``: see
    :func:`llmzoo.rollout.scheduler.run`.
    """

    learner: Learner
    trained: Collection[str]
    cohorts: int = 1
    workers: int = 8

    def __call__(
        self,
        env_fn: Callable[[], AECEnv],
        seeds: Sequence[int],
        keys: Sequence[RolloutKey],
        players: Mapping[str, Policy],
        clock: Clock,
        stop: Event | None = None,
    ) -> Batch:
        """Play one line from each seed, all at once; what it took is added to ``clock``.

        ``keys``: of the lines, as :func:`llmzoo.rollout.scheduler.rollout_keys` gives them for all
        seeds of the batch. A part of a batch is so played as it would be in the whole.
        """
        envs = [env_fn() for _ in seeds]
        for env, seed in zip(envs, seeds, strict=True):
            env.reset(seed=seed)
        lines = [
            self.learner.rollout(env, seed, self.trained)
            for env, seed in zip(envs, seeds, strict=True)
        ]
        played = run(
            lines,
            players,
            keys=keys,
            early=slow_steps(envs),
            cohorts=self.cohorts,
            workers=self.workers,
            clock=clock,
            stop=stop,
        )
        return Batch.joined(played)
