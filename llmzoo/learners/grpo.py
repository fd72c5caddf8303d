"""GRPO for one agent (arXiv 2402.03300): what the multi-agent learners are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from llmzoo.learners import ENV_DEFAULTS
from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.configs.groups import GroupConfig, GRPOConfig
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group


class GRPO(JointLearner):
    """Credit: (return - group mean) / group standard deviation, of one agent playing alone.

    Environments that offer a choice of the number of agents are made with ``num_agents=1``. With several turns,
    the group at each turn shares one prompt, and an answer's return is everything paid after it.
    """

    Config: ClassVar[type[GroupConfig]] = GRPOConfig
    uses_group_baseline = True
    env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["grpo"]

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
