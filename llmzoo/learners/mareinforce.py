"""MAREINFORCE: REINFORCE for several agents, without a baseline (Williams, 1992)."""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.learners.advantages import raw_return
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group


class MAREINFORCE(JointLearner):
    """Credit: the return itself.

    The return is an unbiased estimate of the expected return after the completion. No baseline is
    subtracted, so the gradient is very noisy: a completion becomes more likely whenever its return
    is positive, even if all other completions did better. The other joint learners differ only in
    the baseline, and are compared with this one.

    Each node's credit is multiplied by the estimated probability that the policy reaches it. With
    ``gamma=1`` the gradient summed over a tree is then an unbiased estimate of that of the expected
    return. The loss divides the sum over the batch by its number of completions, which differs from
    batch to batch. The same holds for ``marloo`` and ``maremax``, and for ``magrpo`` up to (K-1)/K.
    With ``weigh_by_reach=False`` every node of a tree counts the same, so later turns have more
    weight than in the policy's own play: a full tree has more nodes at later turns, and with
    ``expand=1`` there is a next node whenever any of the K completions did not end the episode.
    """

    def credit(self, group: Group) -> Tensor:
        return raw_return(torch.tensor(group.returns))
