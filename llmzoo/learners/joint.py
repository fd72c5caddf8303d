"""The rollout that the MAREINFORCE family shares: a joint tree at every node."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Literal

from pettingzoo import AECEnv

from llmzoo.learners.base import GroupConfig, GroupLearner
from llmzoo.rollout.scheduler import Line
from llmzoo.rollout.trees import joint_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class JointConfig(GroupConfig):
    """Options of learners that pair the answers of all seats."""

    mode: Literal["align", "cross"] = "align"  # pair the g-th answers, or try all combinations
    expand: int | None = 1  # children of a node that become nodes; None: all (the full tree)
    reduction: Literal["token_mean", "sequence_sum", "sequence_mean"] = "sequence_sum"


class JointLearner(GroupLearner):
    """Plays joint trees; a subclass gives the credit rule."""

    Config: ClassVar[type[GroupConfig]] = JointConfig
    config: JointConfig
    needs_greedy: bool = False

    def line(self, env: AECEnv, seed: int, trained: Collection[str]) -> Line:
        return joint_tree(
            env,
            seed,
            width=self.config.group_size,
            trained=trained,
            mode=self.config.mode,
            gamma=self.config.gamma,
            expand=self.config.expand,
            with_greedy=self.needs_greedy,
        )
