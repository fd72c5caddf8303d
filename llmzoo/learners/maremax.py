"""MAREMAX: the greedy completion as baseline (ReMax, arXiv 2310.10505)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from llmzoo.learners.advantages import greedy_baseline, max_baseline
from llmzoo.learners.configs.groups import GroupConfig, MAREMAXConfig
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group
from llmzoo.rollout.plans import JointTree


class MAREMAX(JointLearner):
    """Credit: the return minus the return of the joint greedy action at the same node.

    The greedy completion is the policy's best guess, and only completions that beat it become more
    likely. The baseline does not depend on the sampled completions, so the gradient at each node
    stays unbiased. It costs one more completion per prompt. ``group_max`` is biased: no advantage
    is positive, so completions below the best become less likely and the best gains only through
    that.
    """

    Config: ClassVar[type[GroupConfig]] = MAREMAXConfig
    config: MAREMAXConfig

    @property
    def plan(self) -> JointTree:
        return replace(super().plan, with_greedy=self.config.baseline == "greedy")

    def credit(self, group: Group) -> Tensor:
        returns = torch.tensor(group.returns)
        if self.config.baseline == "group_max":
            return max_baseline(returns)
        assert group.greedy is not None, "this group has no return of a greedy completion"
        return greedy_baseline(returns, group.greedy)
