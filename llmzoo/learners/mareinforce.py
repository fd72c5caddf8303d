"""MAREINFORCE: REINFORCE for several agents, without a baseline (Williams, 1992)."""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.advantages import raw_return
from llmzoo.learners.joint import JointLearner
from llmzoo.records import Group


class MAREINFORCE(JointLearner):
    """Credit: the return itself.

    The gradient is unbiased with no assumption at all, and as noisy as policy gradients get: an
    answer is made likelier whenever its return is positive, even if all others did better. It is
    the yardstick for the variants, which differ from it in the baseline only.
    """

    def credit(self, group: Group) -> Tensor:
        return raw_return(torch.tensor(group.returns))
