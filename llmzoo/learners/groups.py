"""Learners on groups of completions of one prompt, without a critic: the learner and its update.

A learner defines the advantage of each completion of a group (:meth:`GroupLearner.credit`). A
:class:`Group` is defined in :mod:`llmzoo.records.records`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError
from llmzoo.learners import returns
from llmzoo.learners.advantages import normalize_by_std, whiten
from llmzoo.learners.base import Learner, RunPolicies
from llmzoo.learners.configs.groups import GroupConfig, JointConfig
from llmzoo.learners.rae import RoleMeans, assign_roles, check_roles
from llmzoo.learners.updates.batch_training import MicrobatchLoss, train_on_batch
from llmzoo.learners.updates.credits import ScoredGroup, keep_sampled
from llmzoo.learners.updates.policy_gradient import (
    Metrics,
    PolicyGradientUpdater,
    prefix_metrics,
    surrogate_loss,
)
from llmzoo.learners.updates.replay import ReplayBuffer
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group
from llmzoo.rollout.plans import JointTree


class GroupLearner(Learner):
    """Base of the critic-free learners: policy gradient on groups with advantages."""

    Config: ClassVar[type[GroupConfig]] = GroupConfig
    uses_group_baseline: ClassVar[bool] = False  # credit is 0 unless a group's returns differ

    def __init__(self, config: Any = None):
        super().__init__(config)
        if (
            self.uses_group_baseline
            and self.config.group_size == 1
            and self.config.role_baseline is None
        ):
            raise ConfigError(
                "this learner compares the completions of a group and learns nothing from a single one: "
                "set group_size to at least 2"
            )

    @property
    def separable(self) -> bool:
        return True

    @property
    def group_size(self) -> int:
        return int(self.config.group_size)

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        check_roles(self.config.roles, env.possible_agents)

    def for_agents(self, agents: Collection[str]) -> GroupLearner:
        """The learner for a policy that plays these agents."""
        return self

    def for_agent(self, agent: str) -> GroupLearner:
        """The learner that assigns credit to this agent's completions."""
        return self

    def credit(self, group: Group) -> Tensor:
        """The advantage [K] of each completion, before ``normalize`` and ``whiten``."""
        raise NotImplementedError

    def wants_more(self, batch: Batch, rounds: int) -> bool:
        """Whether to play more episodes because too few groups have different returns."""
        if self.config.zero_variance_groups != "resample" or rounds >= self.config.resamples:
            return False
        return 2 * sum(group.has_return_variance for group in batch.groups) < len(batch.groups)

    def compute_advantages(
        self, groups: Sequence[Group], roles: RoleMeans | None = None
    ) -> list[ScoredGroup]:
        """The groups with their advantages. Completions that no model sampled are dropped and do not affect
        the baseline.

        ``roles``: the running means that the option ``role_baseline`` compares returns with, in place of
        :meth:`credit`.
        """
        if roles is not None and self.config.role_baseline is not None:
            return roles.compute_advantages(groups, self.config.role_baseline)
        scored = [ScoredGroup(group, self._normalize(group)) for group in keep_sampled(groups)]
        return self._whiten(scored) if self.config.whiten and scored else scored

    def _normalize(self, group: Group) -> Tensor:
        """The credit, divided by the standard deviation of the group's returns if ``normalize`` is set.

        With ``"components"`` each reward component is normalized separately, then summed (GDPO, arXiv 2601.05242).
        """
        if not self.config.normalize:
            return self.credit(group)
        parts = group.split_by_component() if self.config.normalize == "components" else [group]
        divided = [normalize_by_std(self.credit(p), torch.tensor(p.returns)) for p in parts]
        return torch.stack(divided).sum(dim=0)

    def _whiten(self, scored: Sequence[ScoredGroup]) -> list[ScoredGroup]:
        """Whiten the advantages over the batch. With a group baseline, groups whose advantages are all 0 are
        left unchanged."""
        flat = whiten(torch.cat([c.advantages for c in scored]))
        shares = flat.split([len(c.advantages) for c in scored])
        return [
            c
            if self.uses_group_baseline and not c.advantages.any()
            else ScoredGroup(c.group, share)
            for c, share in zip(scored, shares, strict=True)
        ]

    def loss(
        self,
        policy: TransformersPolicy,
        microbatch: Sequence[ScoredGroup],
        *,
        rows: int,
        tokens: int,
        reference: TransformersPolicy | None,
    ) -> tuple[Tensor, Metrics]:
        """The microbatch's share of the loss of a batch with ``rows`` completions and ``tokens`` tokens.

        Also returns metrics, as sums over the microbatch's tokens; they stay on the device.
        """
        return surrogate_loss(
            policy, microbatch, self.config, rows=rows, tokens=tokens, reference=reference
        )

    def updater(self, run: RunPolicies) -> GroupUpdater:
        return GroupUpdater(self, run)


class GroupUpdater(PolicyGradientUpdater):
    """Also holds state that persists across batches: the means of ``role_baseline``, and replayed groups."""

    def __init__(self, learner: GroupLearner, run: RunPolicies):
        agents = {
            name: [a for a, p in run.agent_policies.items() if p is policy]
            for name, policy in run.policies.items()
        }
        self.learners = {name: learner.for_agents(agents[name]) for name in agents}
        configs = {name: learner.config for name, learner in self.learners.items()}
        super().__init__(learner.config, run, configs=configs)
        self.roles = RoleMeans(
            {
                agent: role
                for name, policy_learner in self.learners.items()
                for own, members in group_by_learner(policy_learner, agents[name], str)
                for agent, role in assign_roles(own.config.roles, members).items()
            }
        )
        self.replays = {name: ReplayBuffer(config.replay) for name, config in configs.items()}

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        self.used = []
        for name, policy in self.policies.items():
            policy_groups = [g for g in batch.groups if self.agent_policies[g.agent] is policy]
            learned = self._update(name, policy, policy_groups, random.Random(f"{seed}/{name}"))
            metrics |= prefix_metrics(name, learned, self.policies)
        return metrics

    def _update(
        self, name: str, policy: TransformersPolicy, groups: Sequence[Group], rng: random.Random
    ) -> dict[str, float]:
        learner = self.learners[name]
        config = learner.config

        def config_of(agent: str) -> GroupConfig:
            return learner.for_agent(agent).config

        scored = self._score_groups(learner, keep_sampled(groups))
        informed = sum(bool(c.advantages.any()) for c in scored)
        metrics = {"informative": informed / max(1, len(scored))}
        if config.zero_variance_groups != "keep":
            kept = [
                c
                for c in scored
                if c.group.has_return_variance
                or config_of(c.group.agent).zero_variance_groups == "keep"
            ]
            metrics["dropped_groups"] = len(scored) - len(kept)
            scored = kept
        if config.mask_truncated:
            scored = [
                _drop_truncated(c) if config_of(c.group.agent).mask_truncated else c for c in scored
            ]
            scored = [c for c in scored if c.group.completions]
        self.used += scored
        if config.replay:
            scored = self.replays[name].augment(scored)
        return metrics | train_on_batch(
            policy,
            [self.optimizers[name]],
            scored,
            self._loss(name, policy),
            config,
            rng,
            include_zero_advantage=config.includes_zero_advantage,
            loss_key=learner.for_agent,
        )

    def _loss(self, name: str, policy: TransformersPolicy) -> MicrobatchLoss:
        return partial(self.learners[name].loss, policy, reference=self.references.get(name))

    def _score_groups(self, learner: GroupLearner, groups: Sequence[Group]) -> list[ScoredGroup]:
        """The groups, in their order, with the advantages that the learner of each agent computes."""
        scored: list[ScoredGroup] = []
        for agent_learner, learner_groups in group_by_learner(
            learner, groups, lambda group: group.agent
        ):
            shaped = returns.transform_returns(learner_groups, agent_learner.config.rewards)
            scored += agent_learner.compute_advantages(shaped, self.roles)
        places = {group.key: place for place, group in enumerate(groups)}
        return sorted(scored, key=lambda c: places[c.group.key])

    def save(self, folder: Path) -> None:
        super().save(folder)
        if ranks.rank() > 0:
            return
        for name, learner in self.learners.items():
            if learner.config.replay:
                self.replays[name].save(folder / f"{name}.replay.json")
        if self._has_roles():
            self.roles.save(folder / "roles.json")

    def load(self, folder: Path) -> None:
        super().load(folder)
        for name, learner in self.learners.items():
            if learner.config.replay:
                self.replays[name].load(folder / f"{name}.replay.json")
        if self._has_roles():
            self.roles.load(folder / "roles.json")

    def _has_roles(self) -> bool:
        return any(lr.config.role_baseline is not None for lr in self.learners.values())


Item = TypeVar("Item", Group, ScoredGroup, str)


def group_by_learner(
    learner: GroupLearner, items: Sequence[Item], agent: Callable[[Item], str]
) -> list[tuple[GroupLearner, list[Item]]]:
    """Each learner with the items of its agents. ``agent`` returns the agent of an item."""
    found: dict[int, tuple[GroupLearner, list[Item]]] = {}
    for item in items:
        agent_learner = learner.for_agent(agent(item))
        found.setdefault(id(agent_learner), (agent_learner, []))[1].append(item)
    return list(found.values())


def _drop_truncated(scored: ScoredGroup) -> ScoredGroup:
    """DAPO's overlong filtering (arXiv 2503.14476): truncated completions count in the baseline only."""
    whole = [i for i, c in enumerate(scored.group.completions) if not c.truncated]
    return ScoredGroup(scored.group.select(whole), scored.advantages[whole])


class JointLearner(GroupLearner):
    """Plays joint trees. A subclass defines the credit rule.

    With ``weigh_by_reach`` each advantage is multiplied by its group's ``reach``. The gradient is then that of
    the expected return, even with hidden information such as cards.
    """

    Config: ClassVar[type[GroupConfig]] = JointConfig
    config: JointConfig

    def compute_advantages(
        self, groups: Sequence[Group], roles: RoleMeans | None = None
    ) -> list[ScoredGroup]:
        scored = super().compute_advantages(groups, roles)
        if not self.config.weigh_by_reach:
            return scored
        return [ScoredGroup(c.group, c.advantages * c.group.reach) for c in scored]

    @property
    def plan(self) -> JointTree:
        return joint_plan(self.config)


def joint_plan(config: Any) -> JointTree:
    """The joint tree with a learner's group_size, gamma, mode and expand."""
    return JointTree(
        group_size=config.group_size, gamma=config.gamma, mode=config.mode, expand=config.expand
    )
