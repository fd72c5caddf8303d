"""Advantages: how far each completion of a group exceeds a baseline.

Pure functions. Those on the returns of one group take float tensors [K] and use a baseline from that
group only; :func:`whiten` takes a whole batch. The baseline that persists across batches is in
:mod:`llmzoo.learners.rae`. Advantages from a critic's values are in
:mod:`llmzoo.learners.value_estimation`. Rewards are paid by :meth:`llmzoo.envs.base.TextEnv._pay`.
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


def counterfactual_baseline(returns: Tensor, counterfactual: Tensor) -> Tensor:
    """A_k = R_k - mean return with the agent's completion replaced and the others' kept: the idea of
    COMA (arXiv 1705.08926). [K], [K] -> [K]."""
    return returns - counterfactual


def max_baseline(returns: Tensor) -> Tensor:
    """A_k = R_k - max(R): never positive, 0 for the best. [K] -> [K]."""
    return returns - returns.max()


def success_weighted(returns: Tensor) -> Tensor:
    """A_k = (R_k - mean(R)) / mean(R), negative returns as 0: MaxRL (arXiv 2602.02710). [K] -> [K].

    All 0 if no return is above 0.
    """
    clipped = returns.clamp_min(0)
    mean = clipped.mean()
    return (clipped - mean) / mean if mean > 0 else torch.zeros_like(returns)


def _is_negligible(spread: Tensor, values: Tensor, eps: float) -> bool:
    """Whether a spread is within the rounding error of equal values of this size."""
    return bool(spread <= eps * values.abs().max().clamp_min(1))


def normalize_by_std(advantages: Tensor, returns: Tensor, eps: float = 1e-6) -> Tensor:
    """Advantages divided by (biased standard deviation of the group's returns + eps). [K] -> [K].

    A group whose returns are all equal gives zeros rather than amplified rounding errors.
    """
    spread = returns.std(correction=0)
    if _is_negligible(spread, returns, eps):
        return torch.zeros_like(advantages)
    return advantages / (spread + eps)


def whiten(advantages: Tensor, eps: float = 1e-6) -> Tensor:
    """(A - mean) / (std + eps) over a whole batch, [M] -> [M]: mean 0, standard deviation 1.

    PPO implementations do this. REINFORCE++ (arXiv 2501.03262) does it instead of dividing by a
    group's standard deviation. The standard deviation is the biased one. A batch without variance,
    or with one element, gives zeros rather than amplified rounding errors.
    """
    if len(advantages) == 0:
        return torch.zeros_like(advantages)
    centred = advantages - advantages.sum() / len(advantages)
    spread = ((centred**2).sum() / len(advantages)).sqrt()
    if _is_negligible(spread, advantages, eps):
        return torch.zeros_like(advantages)
    return centred / (spread + eps)
