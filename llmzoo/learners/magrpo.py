"""MAGRPO: group-relative credit for joint actions (arXiv 2508.04652)."""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group


class MAGRPO(JointLearner):
    """Credit: the return minus the group's mean return.

    All returns of a group come from one prompt, so their mean estimates the value of that prompt.
    The advantage says how much better a completion did than this agent usually does there. The mean
    includes the completion's own return, which scales the gradient by (K-1)/K and keeps its
    direction. ``normalize=True`` also divides by the group's standard deviation, as in GRPO. It is
    off by default, as in Dr. GRPO (arXiv 2503.20783), because it gives too much weight to prompts
    whose returns hardly differ.
    """

    uses_group_baseline = True

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
