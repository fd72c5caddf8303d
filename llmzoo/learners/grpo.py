"""GRPO for one agent (arXiv 2402.03300): the baseline for the multi-agent learners."""

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
    """Credit: (return - group mean) / group standard deviation, for a single agent.

    Environments with a ``num_agents`` argument are created with ``num_agents=1``. With several turns, the
    group at each turn shares one prompt, and a completion's return is the sum of all rewards after it.
    """

    Config: ClassVar[type[GroupConfig]] = GRPOConfig
    uses_group_baseline = True
    env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["grpo"]

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
