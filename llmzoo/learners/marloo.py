"""MARLOO: leave-one-out credit for joint actions (RLOO, arXiv 2402.14740)."""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.learners.advantages import leave_one_out
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group


class MARLOO(JointLearner):
    """Credit: the return minus the mean return of the group's other completions.

    The baseline does not contain the completion's own return, so the gradient at each node is
    unbiased in size and in direction: it is K/(K-1) times MAGRPO's. Over several turns,
    ``weigh_by_reach`` decides the weight of each node; see ``mareinforce``.
    """

    uses_group_baseline = True

    def credit(self, group: Group) -> Tensor:
        return leave_one_out(torch.tensor(group.returns))
