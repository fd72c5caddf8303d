"""MaxRL: credit that maximises the likelihood of success (arXiv 2602.02710)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from llmzoo.learners.advantages import success_weighted
from llmzoo.learners.configs.groups import GroupConfig, MaxRLConfig
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group


class MaxRL(JointLearner):
    """Credit: (return - group mean) / group mean, so a success counts more where it is rare.

    Let p be the success probability for a prompt. Maximising the expected return uses the gradient of p;
    maximum likelihood uses the gradient of log p, which is 1/p times as large. The mean of grad log pi
    over the successful completions alone estimates the latter. The mean over all completions, whose
    expectation is 0, is subtracted as a control variate. log p = -(1-p) - (1-p)^2/2 - ..., and K
    completions reach only a part of this sum: the gradient at each node is exactly that of its first K-1
    terms. Groups without a success get 0, as in the authors' code, at the cost of the K-th term.

    The paper has returns of 0 and 1. Here a return from 0 to 1 counts as a partial success, since in a
    tree it is a mean over what follows. The sum of returns times gradients, divided by the sum of
    returns, then estimates the gradient of the log of the expected return. The scale of returns cancels.
    A negative return counts as 0, because log p has no value below a failure. If all returns are
    negative, or if only those above a threshold are right, set ``success``: completions with at least
    this return count as 1, others as 0. This is for tasks that succeed or fail: in a game with stakes,
    small and large losses count the same.
    """

    Config: ClassVar[type[GroupConfig]] = MaxRLConfig
    uses_group_baseline = True
    config: MaxRLConfig

    def credit(self, group: Group) -> Tensor:
        returns = torch.tensor(group.returns)
        if self.config.success is not None:
            returns = (returns >= self.config.success).to(returns)
        return success_weighted(returns)
