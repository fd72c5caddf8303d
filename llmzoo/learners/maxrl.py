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

    The expected return p of a prompt has the gradient of p; maximum likelihood wants that of log p, which
    is 1/p as large. The mean over the successful answers alone estimates it, and the mean over all
    answers, whose expectation is 0, is subtracted. log p = -(1-p) - (1-p)^2/2 - ..., and K answers reach a
    part of this sum: the gradient at each node is exactly that of its first K-1 terms. Groups without a
    success get 0, as in the authors' code; the K-th term is lost by that.

    The paper has returns of 0 and 1. Here a return from 0 to 1 counts as a share of a success, since in a
    tree it is a mean over what follows; the sum of shares times gradients over the sum of shares then
    estimates the gradient of the log of the expected return. The scale of returns cancels. A negative
    return counts as 0: an answer that is fined has failed, and log p has no room for less. Where all
    returns are negative, or only those above a mark are right, set ``success``: answers with at least
    this return count as 1, others as 0. It is for tasks that succeed or fail: in a game with stakes, losing
    a little and losing much count the same.
    """

    Config: ClassVar[type[GroupConfig]] = MaxRLConfig
    uses_group_baseline = True
    config: MaxRLConfig

    def credit(self, group: Group) -> Tensor:
        returns = torch.tensor(group.returns)
        if self.config.success is not None:
            returns = (returns >= self.config.success).to(returns)
        return success_weighted(returns)
