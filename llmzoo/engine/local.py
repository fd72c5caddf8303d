"""Rollouts and updates in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import torch
from pettingzoo import AECEnv

from llmzoo.engine import wire
from llmzoo.engine.iteration import Draws, Iteration
from llmzoo.engine.memory import keep_freed_memory
from llmzoo.engine.playing import Play, models_among, seeds_of_round
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.parallel import ranks
from llmzoo.parallel.sharding import gathered
from llmzoo.policies.base import Policy
from llmzoo.policies.sampler import Sampler
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.clock import Clock
from llmzoo.rollout.scheduler import rollout_keys


class LocalEngine:
    """Plays, and hands what was played to the learner's updater.

    ``policies``: those that learn, by name. ``seats``: the policy of every seat, learning or not.
    ``total_steps``: iterations of the whole run, for the schedule. ``cohorts``, ``workers``: of
    play, see :func:`llmzoo.rollout.scheduler.run`.

    Where a model is on the CPU, the process is told to keep memory that tensors have freed
    (:func:`llmzoo.engine.memory.keep_freed_memory`).
    """

    def __init__(
        self,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
        cohorts: int = 1,
        workers: int = 8,
    ):
        if any(policy.model.device.type == "cpu" for policy in policies.values()):
            keep_freed_memory()
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
        self._lines = Play(learner=learner, trained=self.trained, cohorts=cohorts, workers=workers)
        self.updater = learner.updater(self.policies, self.seats, total_steps=total_steps)
        self.samplers: list[Sampler] = []  # of the policies that do not sample themselves
        self.clock = Clock()  # of the last batch that was collected

    def collect(self, env_fn: Callable[[], AECEnv], seeds: Sequence[int]) -> Batch:
        """Play one line from each seed, all at once; and on while the updater wants more."""
        self.clock = Clock()
        return self.play(env_fn, seeds, self.updater.players(), self.clock)

    def play(
        self,
        env_fn: Callable[[], AECEnv],
        seeds: Sequence[int],
        players: Mapping[str, Policy],
        clock: Clock,
        stop: Event | None = None,
    ) -> Batch:
        """:meth:`collect` with given players; what it took is added to ``clock``."""
        batch = self._play(env_fn, seeds, players, clock, stop)
        rounds = 0
        while self.learner.wants_more(batch, rounds):
            rounds += 1
            again = seeds_of_round(seeds, rounds)
            batch = Batch.joined([batch, self._play(env_fn, again, players, clock, stop)])
        return batch

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        """Learn from a batch; ``seed`` fixes all chance in it. Returns metrics."""
        for sampler in self.samplers:
            sampler.rest()
        learned = self.updater.update(batch, seed=seed)
        self._sync()
        return learned

    def iterate(
        self, env_fn: Callable[[], AECEnv], draw: Callable[[int], Draws], step: int, *, last: bool
    ) -> Iteration:
        """Play a batch and learn from it. ``draw`` gives the chance of each iteration by its number.

        ``last``: no iteration follows.
        """
        self.reseed(self.seats, draw(step).noise)
        torch.manual_seed(draw(step).update)
        before = sum(policy.tokens_sampled for policy in self.policies.values())
        started = time.monotonic()
        batch = self.collect(env_fn, draw(step).seeds)
        played = time.monotonic()
        learned = self.update(batch, seed=step)
        tokens = sum(policy.tokens_sampled for policy in self.policies.values()) - before
        counts = ranks.summed(
            {"tokens": tokens, "answers": self.clock.answers, "steps": self.clock.steps}
        )
        self.clock.answers, self.clock.steps = int(counts["answers"]), int(counts["steps"])
        return Iteration(
            batch=batch,
            clock=self.clock,
            tokens=int(counts["tokens"]),
            rollout_seconds=played - started,
            learned=learned,
            credits=self.updater.credits(batch),
            update_seconds=time.monotonic() - played,
        )

    def models(self, seats: Mapping[str, Policy]) -> list[TransformersPolicy]:
        """All that sample among some seats, those that do not learn too, in the order of seats."""
        return models_among(seats)

    def reseed(self, seats: Mapping[str, Policy], noise: Sequence[int]) -> None:
        """Begin the noise of every model anew."""
        for policy, seed in zip(self.models(seats), noise, strict=True):
            policy.reseed(seed)

    def settle(self) -> None:
        """Have the newest weights in ``policies``; here they always are."""

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
        self._sync()

    def _sync(self) -> None:
        for sampler in self.samplers:
            sampler.sync()

    def _play(
        self,
        env_fn: Callable[[], AECEnv],
        seeds: Sequence[int],
        players: Mapping[str, Policy],
        clock: Clock,
        stop: Event | None,
    ) -> Batch:
        names = rollout_keys(seeds)
        mine = ranks.share(len(seeds))
        self.learner.skip(seeds[: mine.start])
        sampling = [p.model for p in models_among(players) if p.sampler is None]
        with gathered(sampling):
            part = self._lines(
                env_fn, [seeds[i] for i in mine], [names[i] for i in mine], players, clock, stop
            )
        self.learner.skip(seeds[mine.stop :])
        return told_to_all(part)


def told_to_all(part: Batch) -> Batch:
    """The whole batch, of which this rank has played a part."""
    if ranks.world() == 1:
        return part
    return Batch.joined([wire.load(data) for data in ranks.gather(wire.dump(part))])
