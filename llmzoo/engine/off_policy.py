"""Rollouts that overlap with updates: one step off-policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import torch
from pettingzoo import AECEnv

from llmzoo.distributed import ranks
from llmzoo.engine.base import Iteration, IterationSeeds
from llmzoo.engine.local import LocalEngine
from llmzoo.engine.snapshot import Snapshot, copy_for_rollouts
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.stepping import RolloutClock, choose_boards


@dataclass(frozen=True, slots=True)
class _PlayedBatch:
    batch: Batch
    clock: RolloutClock
    tokens: int
    seconds: float


def check_importance_ratio(learner: Learner) -> None:
    """Raise :class:`ConfigError` for a learner that cannot learn from completions of older weights."""
    config = learner.config
    uses_ratio = isinstance(config, SurrogateConfig) and (config.clip or config.importance_cap)
    if not uses_ratio:
        raise ConfigError(
            "max_off_policy_steps above 0 trains on completions of older weights, which needs an importance "
            "ratio: choose a policy-gradient learner and set its clip, such as 0.2, or its importance_cap"
        )


class OffPolicyEngine(LocalEngine):
    """Plays each batch with a copy of the weights while it trains on the previous batch.

    W_t are the weights after t updates. The update from W_t to W_{t+1} trains on batch t. Meanwhile batch
    t + 1 is played with W_t. The next update, which starts from W_{t+1}, trains on it, so the batch is
    exactly one update old. Batch 0 is played with W_0. The importance ratio of the surrogate loss uses the
    log-probabilities at sampling time, so clipping or truncating the ratio corrects for the update in
    between. A learner without the ratio is rejected.

    A checkpoint contains the weights of the copy, but not the batch that is being played: a resumed run
    plays it again. The result does not depend on whether playing or training ends first.
    """

    def __init__(
        self,
        learner: Learner,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        **options: Any,
    ):
        if ranks.world_size() > 1:
            raise ConfigError(
                "max_off_policy_steps=1 plays in the process that updates, and needs a "
                "single rank; engine='ray' has no such limit"
            )
        check_importance_ratio(learner)
        super().__init__(learner, policies, agent_policies, **options)
        if dict(self.updater.rollout_policies()) != self.agent_policies:
            raise ConfigError(
                "max_off_policy_steps must be 0: this learner does not play with the policies it trains"
            )
        self.rollout_policies = copy_for_rollouts(
            self.policies, self.agent_policies
        )  # the policy that plays each agent
        copy_by_policy = {
            id(policy): self.rollout_policies[agent]
            for agent, policy in self.agent_policies.items()
        }
        self._copies: dict[str, Any] = {n: copy_by_policy[id(p)] for n, p in self.policies.items()}
        self._next: _PlayedBatch | None = None

    def iterate(
        self,
        env_fn: Callable[[], AECEnv],
        seeds_for: Callable[[int], IterationSeeds],
        step: int,
        *,
        last: bool,
    ) -> Iteration:
        """Train on batch ``step``, and meanwhile play the next batch unless this is the ``last``."""
        current = self._next or self._play_copies(env_fn, seeds_for(step))
        self._next = None
        Snapshot.from_policies(self.policies).copy_into(self._copies)
        torch.manual_seed(seeds_for(step).update)
        stop = Event()
        with ThreadPoolExecutor(1, thread_name_prefix="llmzoo-rollouts") as pool:
            try:
                pending = (
                    None
                    if last
                    else pool.submit(self._play_copies, env_fn, seeds_for(step + 1), stop)
                )
                started = time.monotonic()
                metrics = self.update(current.batch, seed=step)
                seconds = time.monotonic() - started
                if pending is not None:
                    self._next = pending.result()
            except BaseException:
                stop.set()  # the thread ends before its next call of a policy
                raise
        self.clock = current.clock
        return Iteration(
            batch=current.batch,
            clock=current.clock,
            tokens=current.tokens,
            rollout_seconds=current.seconds,
            update_metrics=metrics,
            credits=self.updater.credits(current.batch),
            update_seconds=seconds,
        )

    def tokens_sampled(self) -> int:
        """The number of tokens that the copies have sampled so far."""
        return sum(copy.tokens_sampled for copy in self._copies.values())

    def save(self, folder: Path) -> None:
        super().save(folder)
        Snapshot.from_policies(self._copies).save(folder, self._copies, age=1)

    def load(self, folder: Path) -> None:
        super().load(folder)
        Snapshot.load(folder, self._copies, age=1).copy_into(self._copies)
        self._next = None

    def _play_copies(
        self, env_fn: Callable[[], AECEnv], seeds: IterationSeeds, stop: Event | None = None
    ) -> _PlayedBatch:
        self.reseed(self.rollout_policies, seeds.noise)
        clock, started, before = RolloutClock(), time.monotonic(), self.tokens_sampled()
        env_fn = choose_boards(env_fn, seeds.boards)
        batch = self.play(env_fn, seeds.seeds, self.rollout_policies, clock, stop)
        tokens = self.tokens_sampled() - before
        return _PlayedBatch(batch, clock, tokens, time.monotonic() - started)
