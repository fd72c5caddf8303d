"""Rollouts and updates in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import torch
from pettingzoo import AECEnv

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import gather_weights
from llmzoo.engine.base import Iteration, IterationSeeds, distinct_models, seeds_for_round
from llmzoo.engine.curriculum import Curriculum
from llmzoo.engine.opponents import Opponents
from llmzoo.engine.setup import keep_freed_memory
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner, RunPolicies
from llmzoo.models.decode import Sampler
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, wire
from llmzoo.rollout.scheduler import RolloutKey, has_slow_steps, rollout_keys, run_rollouts
from llmzoo.rollout.stepping import RolloutClock, choose_boards


class LocalEngine:
    """Plays batches and hands them to the learner's updater.

    ``policies``: the learning policies, by name. ``agent_policies``: the policy of every agent, learning or not.
    ``total_steps``: iterations of the whole run, for the learning-rate schedule. ``cohorts``,
    ``workers``: see :func:`llmzoo.rollout.scheduler.run_rollouts`. ``opponents``: None for self-play.
    ``curriculum``: None if the environment samples its own tasks.

    If a model is on the CPU, the process keeps memory that tensors have freed
    (:func:`llmzoo.engine.setup.keep_freed_memory`).
    """

    def __init__(
        self,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        *,
        total_steps: int,
        cohorts: int = 1,
        workers: int = 8,
        opponents: Opponents | None = None,
        curriculum: Curriculum | None = None,
    ):
        if any(policy.model.device.type == "cpu" for policy in policies.values()):
            keep_freed_memory()
        self.learner = learner
        self.policies = dict(policies)
        self.agent_policies = dict(agent_policies)
        learning = {id(policy) for policy in policies.values()}
        self.trained_agents = [
            agent for agent, policy in agent_policies.items() if id(policy) in learning
        ]
        if not self.trained_agents:
            raise ConfigError("no agent is played by a policy that learns")
        self._scheduler_options = {"cohorts": cohorts, "workers": workers}
        self.updater = learner.updater(
            RunPolicies(
                policies=self.policies,
                agent_policies=self.agent_policies,
                total_steps=total_steps,
            )
        )
        self.samplers: list[
            Sampler
        ] = []  # of the policies that do not generate with their own model
        self.clock = RolloutClock()  # of the last batch that was collected
        self.opponents = opponents
        self.curriculum = curriculum
        # these have state across batches, as the updater does
        self._stateful = [each for each in (opponents, curriculum) if each is not None]

    def iterate(
        self,
        env_fn: Callable[[], AECEnv],
        seeds_for: Callable[[int], IterationSeeds],
        step: int,
        *,
        last: bool,
    ) -> Iteration:
        """Play a batch and learn from it. ``seeds_for(n)`` returns the seeds of iteration n."""
        self.reseed(self.agent_policies, seeds_for(step).noise)
        torch.manual_seed(seeds_for(step).update)
        for component in self._stateful:
            component.start_iteration(step, seeds_for(step).update)
        before = sum(policy.tokens_sampled for policy in self.policies.values())
        started = time.monotonic()
        seeds = seeds_for(step)
        batch = self.collect(choose_boards(env_fn, seeds.boards), seeds.seeds)
        update_started = time.monotonic()
        metrics = self.update(batch, seed=step)
        for component in self._stateful:
            metrics |= component.record_results(batch)
        tokens = sum(policy.tokens_sampled for policy in self.policies.values()) - before
        counts = ranks.all_reduce_sum(
            {"tokens": tokens, "answers": self.clock.answers, "steps": self.clock.steps}
        )
        self.clock.answers, self.clock.steps = int(counts["answers"]), int(counts["steps"])
        return Iteration(
            batch=batch,
            clock=self.clock,
            tokens=int(counts["tokens"]),
            rollout_seconds=update_started - started,
            update_metrics=metrics,
            credits=self.updater.credits(batch),
            update_seconds=time.monotonic() - update_started,
        )

    def collect(self, env_fn: Callable[[], AECEnv], seeds: Sequence[int]) -> Batch:
        """Play one rollout per seed, then further rounds as long as the learner wants more."""
        self.clock = RolloutClock()
        rollout_policies = self.updater.rollout_policies()
        if self.opponents is not None:
            rollout_policies = self.opponents.with_opponents(rollout_policies)
        return self.play(env_fn, seeds, rollout_policies, self.clock)

    def play(
        self,
        env_fn: Callable[[], AECEnv],
        seeds: Sequence[int],
        rollout_policies: Mapping[str, Policy],
        clock: RolloutClock,
        stop: Event | None = None,
    ) -> Batch:
        """Like :meth:`collect`, with these policies. Adds to ``clock``. ``stop``: see ``run_rollouts``."""
        batch = self._play_round(env_fn, seeds, rollout_policies, clock, stop)
        rounds = 0
        while self.learner.wants_more(batch, rounds):
            rounds += 1
            more_seeds = seeds_for_round(seeds, rounds)
            batch = Batch.concatenate(
                [batch, self._play_round(env_fn, more_seeds, rollout_policies, clock, stop)]
            )
        return batch

    def _play_round(
        self,
        env_fn: Callable[[], AECEnv],
        seeds: Sequence[int],
        rollout_policies: Mapping[str, Policy],
        clock: RolloutClock,
        stop: Event | None,
    ) -> Batch:
        """Play one rollout from each seed. Each rank plays its share, and all ranks return the whole batch."""
        keys = rollout_keys(seeds)
        own_indices = ranks.shard_range(len(seeds))
        sampling = [
            policy.model for policy in distinct_models(rollout_policies) if policy.sampler is None
        ]
        self.learner.plan.skip(seeds[: own_indices.start])
        with gather_weights(sampling):
            own_batch = play_rollouts(
                self.learner,
                self.trained_agents,
                env_fn,
                [seeds[i] for i in own_indices],
                [keys[i] for i in own_indices],
                rollout_policies,
                clock=clock,
                stop=stop,
                opponents=self.opponents,
                curriculum=self.curriculum,
                **self._scheduler_options,
            )
        self.learner.plan.skip(seeds[own_indices.stop :])
        if ranks.world_size() == 1:
            return own_batch
        return Batch.concatenate(
            [wire.load(data) for data in ranks.all_gather_bytes(wire.dump(own_batch))]
        )

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        """Learn from a batch; ``seed`` fixes all randomness of the update. Returns metrics."""
        for sampler in self.samplers:
            sampler.rest()
        metrics = self.updater.update(batch, seed=seed)
        self._sync_samplers()
        return metrics

    def reseed(self, agent_policies: Mapping[str, Policy], noise: Sequence[int]) -> None:
        """Seed the sampling of every model."""
        for policy, seed in zip(distinct_models(agent_policies), noise, strict=True):
            policy.reseed(seed)

    def sync_policies(self) -> None:
        """Nothing to do: ``policies`` always have the newest weights."""

    def save(self, folder: Path) -> None:
        """Write everything that the next iteration depends on into an existing folder."""
        for name, policy in self.policies.items():
            policy.save(folder / name)
        self.updater.save(folder)
        for component in self._stateful:
            component.save(folder)

    def load(self, folder: Path) -> None:
        """Load what :meth:`save` wrote."""
        for name, policy in self.policies.items():
            policy.load_weights(folder / name)
        self.updater.load(folder)
        for component in self._stateful:
            component.load(folder)
        self._sync_samplers()

    def _sync_samplers(self) -> None:
        for sampler in self.samplers:
            sampler.sync_weights()


def play_rollouts(
    learner: Learner,
    trained_agents: Collection[str],
    env_fn: Callable[[], AECEnv],
    seeds: Sequence[int],
    keys: Sequence[RolloutKey],
    rollout_policies: Mapping[str, Policy],
    *,
    cohorts: int,
    workers: int,
    clock: RolloutClock,
    stop: Event | None = None,
    opponents: Opponents | None = None,
    curriculum: Curriculum | None = None,
) -> Batch:
    """Play one of the learner's rollouts from each seed, all at once.

    ``keys``: the keys of these seeds among those that :func:`llmzoo.rollout.scheduler.rollout_keys` gives for
    the whole batch. So a part of a batch is played exactly as within the whole batch. ``trained_agents``: the
    agents that learn. With ``opponents``, only those of one side learn in an episode that has an opponent.
    ``curriculum`` samples the tasks. The other arguments: see :func:`llmzoo.rollout.scheduler.run_rollouts`.
    """
    envs = [env_fn() for _ in seeds]
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed, options=curriculum.reset_options(seed) if curriculum else None)
    learning_agents = [
        opponents.trained_agents(seed, trained_agents) if opponents else trained_agents
        for seed in seeds
    ]
    batches = run_rollouts(
        [learner.plan.rollout(*each) for each in zip(envs, seeds, learning_agents, strict=True)],
        rollout_policies,
        keys=keys,
        early=has_slow_steps(envs),
        cohorts=cohorts,
        workers=workers,
        clock=clock,
        stop=stop,
    )
    return Batch.concatenate(batches)
