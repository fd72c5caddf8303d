"""What every learner is, and what the critic-free ones share.

A learner says how it plays (:meth:`Learner.rollout`) and what changes weights
(:meth:`Learner.updater`). A critic-free one says what credit each completion of a group gets
(:meth:`GroupLearner.credit`). The loop, checkpoints and logging are not its business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners.advantages import normalized
from llmzoo.learners.updates.base import Updater
from llmzoo.learners.updates.groups import GroupConfig, GroupUpdater, differs, sampled_only
from llmzoo.learners.updates.surrogate import Credited, surrogate_loss
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group
from llmzoo.rollout.scheduler import Rollout


class Learner:
    """Base of all learners. ``Config`` is the dataclass of its options."""

    Config: ClassVar[type]
    env_defaults: ClassVar[Mapping[str, Any]] = {}  # environment arguments that it needs

    def __init__(self, config: Any = None):
        self.config: Any = config or self.Config()

    @property
    def separable(self) -> bool:
        """Whether an updater for each policy alone does what one for all of them does.

        It is then given the groups of its policy's own seats, and all episodes.
        """
        return False

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        """Raise :class:`ConfigError` for settings that mean nothing on ``env``, before a run starts."""

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        """A rollout on a freshly reset environment; the generator returns a ``Batch``."""
        raise NotImplementedError

    def skip(self, seeds: Sequence[int]) -> None:
        """Skip the rollouts from ``seeds``: other processes play them.

        Only learners whose rollouts depend on earlier ones need this.
        """

    def state_dict(self) -> dict[str, Any]:
        """The state that the next rollouts depend on, as JSON values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""

    def players(self, seats: Mapping[str, Policy]) -> Mapping[str, Policy]:
        """Who plays for these seats, of players that never learn: demonstrators, for example."""
        return seats

    def wants_more(self, batch: Batch, rounds: int) -> bool:
        """Whether a batch, played on ``rounds`` times already, is to be played on once more."""
        return False

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> Updater:
        """What learns from the batches of a run of ``total_steps`` iterations.

        ``policies``: those that learn, by name. ``seats``: who plays each seat.
        """
        raise NotImplementedError


class GroupLearner(Learner):
    """Base of the critic-free learners: policy gradient on groups with advantages."""

    Config: ClassVar[type[GroupConfig]] = GroupConfig
    compares: ClassVar[bool] = False  # credit is 0 unless a group's answers differ

    def __init__(self, config: Any = None):
        super().__init__(config)
        if self.compares and self.config.group_size == 1 and self.config.role_baseline is None:
            raise ConfigError(
                "this learner compares the answers of a group, and one alone teaches it nothing: "
                "set group_size to at least 2"
            )

    @property
    def separable(self) -> bool:
        return True

    def credit(self, group: Group) -> Tensor:
        """The advantage [K] of each completion."""
        raise NotImplementedError

    def wants_more(self, batch: Batch, rounds: int) -> bool:
        """Whether further episodes are to be played in place of groups that teach nothing."""
        if self.config.uninformative != "resample" or rounds >= self.config.resamples:
            return False
        return 2 * sum(map(differs, batch.groups)) < len(batch.groups)

    def credited(self, groups: Sequence[Group]) -> list[Credited]:
        """Groups with their advantages; what no model sampled is left out before any baseline."""
        kept = []
        for group in sampled_only(groups):
            advantages = self.credit(group)
            if self.config.normalize:
                advantages = normalized(advantages, torch.tensor(group.returns))
            kept.append(Credited(group, advantages))
        return kept

    def loss(
        self,
        policy: TransformersPolicy,
        part: Sequence[Credited],
        *,
        rows: int,
        tokens: int,
        reference: TransformersPolicy | None,
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss of a part of a batch of ``rows`` completions with ``tokens`` tokens in all.

        Returns the part's share of the loss, and metrics as sums over the part's tokens.
        """
        return surrogate_loss(
            policy, part, self.config, rows=rows, tokens=tokens, reference=reference
        )

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> GroupUpdater:
        return GroupUpdater(self, policies, seats, total_steps=total_steps)
