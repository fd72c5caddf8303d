"""MAREINFORCE: REINFORCE for several agents, without a baseline (Williams, 1992)."""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.learners.advantages import raw_return
from llmzoo.learners.base import JointLearner
from llmzoo.records import Group


class MAREINFORCE(JointLearner):
    """Credit: the return itself.

    The return of an answer is an unbiased estimate of what its agent can expect after it, and
    nothing is subtracted from it. That is as noisy as policy gradients get: an answer is made
    likelier whenever its return is positive, even if all others did better. It is the yardstick for
    the variants, which differ from it in the baseline only.

    Where every seat chooses once, all at the same time, the gradient is that of the expected return.
    Over several turns it is not, as every node of a tree counts alike and later turns weigh more
    than in the policy's own play: a full tree has more nodes the later the turn, and with
    ``expand=1`` there is a next node whenever any of the K answers did not end the episode.
    ``weigh_by_reach=True`` multiplies each node's credit by its estimated
    probability of being reached. With ``gamma=1`` the gradient summed over a tree is then unbiased;
    the loss divides the sum over the batch by its number of answers, which differs from batch to
    batch. The same holds for ``marloo`` and ``maremax``, and for ``magrpo`` up to (K-1)/K.
    """

    def credit(self, group: Group) -> Tensor:
        return raw_return(torch.tensor(group.returns))
