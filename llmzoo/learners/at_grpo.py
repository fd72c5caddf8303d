"""AT-GRPO: agent- and turn-wise groups from a tree (PettingLLMs, arXiv 2510.11062)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.advantages import mean_baseline
from llmzoo.errors import ConfigError
from llmzoo.learners.base import GroupConfig, GroupLearner
from llmzoo.records import Group
from llmzoo.rollout.scheduler import Line
from llmzoo.rollout.trees import agent_turn_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class ATGRPOConfig(GroupConfig):
    """The published settings: normalised advantages, clip 0.2, alpha 1, the best answer goes on."""

    normalize: bool = True
    clip: float | None = 0.2
    alpha: float = 1.0  # weight of the team reward beside the local one
    select: Literal["greedy", "sample", "random"] = "greedy"  # which answer is carried out

    def __post_init__(self) -> None:
        GroupConfig.__post_init__(self)
        if self.gamma != 1.0:
            raise ConfigError("at_grpo learns from the immediate reward: gamma means nothing here")


class ATGRPO(GroupLearner):
    """Credit: (reward - group mean) / group standard deviation, per agent and turn.

    In a task of several agents and turns the prompts of parallel episodes differ from the second
    action on, so a baseline over episodes compares what cannot be compared. Here the K answers are
    given to one and the same observation, so they are. The reward is the immediate one, alpha x
    team + local: with potential-based shaping that is how far the answer itself has moved the
    task, and no later luck is mixed in; what it prepares for later turns is credited only as far
    as the potential sees it.
    """

    Config: ClassVar[type[GroupConfig]] = ATGRPOConfig
    compares = True
    config: ATGRPOConfig

    def line(self, env: AECEnv, seed: int, trained: Collection[str]) -> Line:
        return agent_turn_tree(
            env,
            seed,
            width=self.config.group_size,
            trained=trained,
            select=self.config.select,
            team_weight=self.config.alpha,
        )

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
