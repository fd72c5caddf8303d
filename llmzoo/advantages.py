"""Advantages: what each completion of a group was worth beyond a baseline.

Pure functions on the returns of one group, float tensors [K]. A baseline never looks beyond its
group.
"""

from __future__ import annotations

import torch
from torch import Tensor


def raw_return(returns: Tensor) -> Tensor:
    """A_k = R_k: REINFORCE without a baseline (Williams, 1992). [K] -> [K]."""
    return returns.clone()


def mean_baseline(returns: Tensor) -> Tensor:
    """A_k = R_k - mean(R): the group baseline of GRPO (arXiv 2402.03300). [K] -> [K]."""
    return returns - returns.mean()


def leave_one_out(returns: Tensor) -> Tensor:
    """A_k = R_k - mean of the other K-1: RLOO (arXiv 2402.14740). [K] -> [K]; 0 where K is 1."""
    k = len(returns)
    if k < 2:
        return torch.zeros_like(returns)
    return (returns - returns.mean()) * (k / (k - 1))


def greedy_baseline(returns: Tensor, greedy: float) -> Tensor:
    """A_k = R_k - R(greedy completion): ReMax (arXiv 2310.10505). [K] -> [K]."""
    return returns - greedy


def max_baseline(returns: Tensor) -> Tensor:
    """A_k = R_k - max(R): never positive, 0 for the best. [K] -> [K]."""
    return returns - returns.max()


def normalized(advantages: Tensor, returns: Tensor, eps: float = 1e-6) -> Tensor:
    """Advantages divided by the (biased) standard deviation of the group's returns + eps. [K] -> [K].

    A group whose returns are all the same gives zeros rather than amplified rounding errors.
    """
    spread = returns.std(correction=0)
    if spread < eps:
        return torch.zeros_like(advantages)
    return advantages / (spread + eps)
