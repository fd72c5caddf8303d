"""Updates from episodes: values, generalised advantages, training of actors and critics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llmzoo.learners.advantages import whiten
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.critics import ActorCriticConfig
from llmzoo.learners.updates.batch_training import train_on_batch
from llmzoo.learners.updates.critics import HeadCritic, ModelCritic
from llmzoo.learners.updates.policy_gradient import (
    Metrics,
    PolicyGradientUpdater,
    prefix_metrics,
    surrogate_loss,
)
from llmzoo.learners.updates.turns import (
    AgentTrajectory,
    ScoredTurn,
    Turn,
    agent_trajectories,
    explained_variances,
    score_trajectory,
)
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch


class ActorCriticUpdater(PolicyGradientUpdater):
    """Also holds a critic for each policy, or one ``central`` critic for all."""

    def __init__(self, config: ActorCriticConfig, run: RunPolicies, *, central: bool):
        super().__init__(config, run)
        self.config = config
        self.critics: dict[str, ModelCritic | HeadCritic] = {}
        new_critic = partial(
            ModelCritic, config=config, agents=list(run.agent_policies), total_steps=run.total_steps
        )
        if central:
            first = next(iter(self.policies.values()))
            self.critics["central"] = new_critic(first, central=True, name="all")
        for name, policy in self.policies.items() if not central else ():
            self.critics[name] = (
                HeadCritic(policy, config, total_steps=run.total_steps, name=name)
                if config.critic == "value_head"
                else new_critic(policy, central=False, name=name)
            )

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        self.used = []
        scored: dict[str, list[ScoredTurn]] = {name: [] for name in self.critics}
        for name, policy in self.policies.items():
            agents = [
                agent
                for agent, agent_policy in self.agent_policies.items()
                if agent_policy is policy
            ]
            trajectories = agent_trajectories(batch.episodes, agents)
            critic_name = name if name in self.critics else "central"
            items = self.score_turns(self.critics[critic_name], trajectories)
            scored[critic_name] += items
            policy_metrics = {} if not items else self._update_actor(name, policy, items, seed)
            metrics |= prefix_metrics(name, policy_metrics, self.policies)
        for name, critic in self.critics.items():
            if isinstance(critic, ModelCritic) and scored[name]:
                critic_metrics = critic.learn(scored[name], random.Random(f"{seed}/{name}/critic"))
                metrics |= prefix_metrics(name, critic_metrics, self.critics)
        return metrics

    def score_turns(
        self, critic: ModelCritic | HeadCritic, trajectories: Sequence[AgentTrajectory]
    ) -> list[ScoredTurn]:
        """All turns with their advantages, before whitening, and their value targets."""
        config = self.config
        turns: list[Turn] = [turn for trajectory in trajectories for turn in trajectory.turns]
        values = iter(critic.values(turns) if turns else [])
        bootstraps = [_should_bootstrap(trajectory, config) for trajectory in trajectories]
        finals = iter(
            critic.final([c for c, on in zip(trajectories, bootstraps, strict=True) if on])
        )
        return [
            item
            for trajectory, on in zip(trajectories, bootstraps, strict=True)
            for item in score_trajectory(
                trajectory,
                [next(values) for _ in trajectory.turns],
                next(finals) if on else 0.0,
                gamma=config.gamma,
                lam=config.lam,
                per_token=config.values == "token",
            )
        ]

    def _update_actor(
        self, name: str, policy: TransformersPolicy, items: Sequence[ScoredTurn], seed: int
    ) -> dict[str, float]:
        config = self.config
        flat = torch.cat([item.advantages.flatten() for item in items])
        metrics = {
            "advantage_std": float(flat.std(correction=0)),
            **explained_variances(items),
        }
        if config.whiten and len(flat) > 1:  # a single advantage would become 0
            items = _with_advantages(items, whiten(flat))
        self.used += items
        critic = self.critics.get(name)
        head = critic if isinstance(critic, HeadCritic) else None
        loss = partial(self._loss, policy, head, self.references.get(name))
        target = config.target_kl
        return metrics | train_on_batch(
            policy,
            [self.optimizers[name], *([head.optimizer] if head else [])],
            items,
            loss,
            config,
            random.Random(f"{seed}/{name}"),
            stop_early=lambda means: target is not None and means.get("update_kl", 0.0) > target,
            include_zero_advantage=config.includes_zero_advantage or head is not None,
        )

    def _loss(
        self,
        policy: TransformersPolicy,
        head: HeadCritic | None,
        reference: TransformersPolicy | None,
        microbatch: Sequence[Any],
        *,
        rows: int,
        tokens: int,
    ) -> tuple[Tensor, Metrics]:
        groups = [item.group for item in microbatch]
        now = policy.likelihood(groups, hidden=head is not None)
        loss, metrics = surrogate_loss(
            policy, microbatch, self.config, rows=rows, tokens=tokens, reference=reference, now=now
        )
        if head is not None:
            mean = head.total_loss(microbatch, now) / (
                rows if self.config.values == "turn" else tokens
            )
            loss = loss + self.config.value_weight * mean
            metrics["value_loss"] = mean.detach() * tokens
        return loss, metrics

    def save(self, folder: Path) -> None:
        super().save(folder)
        for name, critic in self.critics.items():
            critic.save(folder, name)

    def load(self, folder: Path) -> None:
        super().load(folder)
        for name, critic in self.critics.items():
            critic.load(folder, name)


def _should_bootstrap(trajectory: AgentTrajectory, config: ActorCriticConfig) -> bool:
    """Whether to bootstrap from the critic's value after a trajectory's last turn.

    Bootstrapping is right if a time limit outside the task truncated the episode (arXiv
    1712.00378). A limit that is a rule of the task ends the episode: with bootstrapping, failing
    would be worth as much as succeeding a little later.
    """
    if config.time_limit == "auto":
        return trajectory.cut_off and not trajectory.timed_task
    return trajectory.cut_off and config.time_limit == "bootstrap"


def _with_advantages(items: Sequence[ScoredTurn], flat: Tensor) -> list[ScoredTurn]:
    """The items with new advantages, taken from ``flat``, which concatenates them."""
    sizes = [item.advantages.numel() for item in items]
    return [
        replace(item, advantages=a.view_as(item.advantages))
        for item, a in zip(items, flat.split(sizes), strict=True)
    ]
