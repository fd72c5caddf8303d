"""GRPO for one agent (arXiv 2402.03300): what the multi-agent learners are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.groups import GroupConfig, JointConfig, JointLearner
from llmzoo.learners.losses import Reduction
from llmzoo.records import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class GRPOConfig(JointConfig):
    """The published settings: standard-deviation normalisation, clip 0.2, mean over each answer.

    The published KL weight of 0.04 is left at 0, as has become usual; set ``kl`` for it.
    """

    group_size: int = 8
    normalize: bool | Literal["parts"] = True
    clip: float | None = 0.2
    reduction: Reduction = "sequence_mean"


class GRPO(JointLearner):
    """Credit: (return - group mean) / group standard deviation, of one agent playing alone.

    Environments that offer a choice of seats are made with ``num_agents=1``. With several turns,
    the group at each turn shares one prompt, and an answer's return is everything paid after it.
    """

    Config: ClassVar[type[GroupConfig]] = GRPOConfig
    compares = True
    env_defaults: ClassVar[Mapping[str, Any]] = {"num_agents": 1}

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
