# log_return.py
"""Credit for the logarithm of the expected return: rare successes count more."""

import torch

from llmzoo.learners.groups import JointLearner


class LogReturn(JointLearner):
    """Credit: the return divided by the group's mean return, minus 1.

    Its mean over samples estimates the gradient of log E[return], which is that of E[return]
    divided by E[return]. Returns must not be negative; a group without any return is left alone.
    """

    uses_group_baseline = True  # a group of one answer teaches it nothing

    def credit(self, group):
        returns = torch.tensor(group.returns)  # [K]
        mean = returns.mean()
        return returns / mean - 1 if mean > 0 else torch.zeros_like(returns)
