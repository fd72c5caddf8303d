"""The rollout that the MAREINFORCE family shares: a joint tree at every node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError
from llmzoo.learners.base import GroupConfig, GroupLearner
from llmzoo.learners.updates.surrogate import Credited
from llmzoo.records import Group
from llmzoo.rollout.scheduler import Rollout
from llmzoo.rollout.trees import joint_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class JointConfig(GroupConfig):
    """Options of learners that pair the answers of all seats."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th answers, or try all combinations
    expand: int | None = 1  # children of a node that become nodes; None: all (the full tree)
    reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"
    weigh_by_reach: bool = False  # multiply credit by the probability of reaching the node

    def __post_init__(self) -> None:
        GroupConfig.__post_init__(self)
        if self.weigh_by_reach and self.role_baseline is not None:
            raise ConfigError("weigh_by_reach weighs advantages in groups: role_baseline is None")


class JointLearner(GroupLearner):
    """Plays joint trees; a subclass gives the credit rule.

    With ``weigh_by_reach`` each advantage is multiplied by its group's ``reach``.
    """

    Config: ClassVar[type[GroupConfig]] = JointConfig
    config: JointConfig
    needs_greedy: bool = False

    def credited(self, groups: Sequence[Group]) -> list[Credited]:
        found = super().credited(groups)
        if not self.config.weigh_by_reach:
            return found
        return [Credited(c.group, c.advantages * c.group.reach) for c in found]

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return joint_tree(
            env,
            seed,
            group_size=self.config.group_size,
            trained=trained,
            mode=self.config.mode,
            gamma=self.config.gamma,
            expand=self.config.expand,
            with_greedy=self.needs_greedy,
        )
