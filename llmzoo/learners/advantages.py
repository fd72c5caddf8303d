"""Advantages: what each completion of a group was worth beyond a baseline.

Pure functions. Those on the returns of one group take float tensors [K], and their baseline never
looks beyond the group. :func:`gae` takes one agent's turns in time, float tensors [T], and
:func:`whitened` a whole batch. The baseline that outlives a batch is in :mod:`llmzoo.learners.rae`.
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


def _negligible(spread: Tensor, values: Tensor, eps: float) -> bool:
    """Whether a spread is no more than rounding leaves of equal values of this size."""
    return bool(spread <= eps * values.abs().max().clamp_min(1))


def normalized(advantages: Tensor, returns: Tensor, eps: float = 1e-6) -> Tensor:
    """Advantages over the (biased) standard deviation of the group's returns + eps. [K] -> [K].

    A group whose returns are all the same gives zeros rather than amplified rounding errors.
    """
    spread = returns.std(correction=0)
    if _negligible(spread, returns, eps):
        return torch.zeros_like(advantages)
    return advantages / (spread + eps)


def td_errors(rewards: Tensor, values: Tensor, discounts: Tensor) -> Tensor:
    """delta_t = r_t + discount_t V_{t+1} - V_t. [T], [T+1], [T] -> [T]; see :func:`gae`."""
    assert len(values) == len(rewards) + 1 == len(discounts) + 1
    return rewards + discounts * values[1:] - values[:-1]


def gae(rewards: Tensor, values: Tensor, discounts: Tensor, lam: float | Tensor) -> Tensor:
    """A_t = delta_t + discount_t lam_t A_{t+1}: generalised advantages (arXiv 1506.02438).

    ``rewards`` [T]: paid between turn t and the agent's next turn. ``discounts`` [T]: the discount
    from turn t+1 to turn t, 0 if an episode ends in between. ``values`` [T+1]: the critic's, detached.
    The last one is the bootstrap: 0 if the episode terminated, V of the last observation if it was
    truncated. ``lam`` is a number or [T]: 0 gives :func:`td_errors`, 1 the discounted return minus
    V. The result [T] plus ``values[:-1]`` gives the critic's targets.
    """
    errors = td_errors(rewards, values, discounts)
    decay = discounts * lam
    advantages = torch.zeros_like(errors)
    following = errors.new_zeros(())
    for t in reversed(range(len(errors))):
        following = errors[t] + decay[t] * following
        advantages[t] = following
    return advantages


def explained_variance(outcomes: Tensor, values: Tensor) -> float:
    """1 - Var(outcomes - values) / Var(outcomes), both [M]: 1 for a perfect fit, 0 for a constant.

    It is below 0 if a constant fits better, and 0 if all outcomes are equal.
    """
    spread = float(outcomes.var(correction=0))
    return 1 - float((outcomes - values).var(correction=0)) / spread if spread > 0 else 0.0


def whitened(advantages: Tensor, eps: float = 1e-6) -> Tensor:
    """(A - mean) / (std + eps) over a whole batch, [M] -> [M]: mean 0, standard deviation 1.

    PPO implementations do so, and REINFORCE++ (arXiv 2501.03262) instead of a group's deviation.
    The deviation is the biased one. A batch without spread, or of one element, gives zeros rather
    than amplified rounding errors.
    """
    if len(advantages) == 0:
        return torch.zeros_like(advantages)
    centred = advantages - advantages.sum() / len(advantages)
    spread = ((centred**2).sum() / len(advantages)).sqrt()
    if _negligible(spread, advantages, eps):
        return torch.zeros_like(advantages)
    return centred / (spread + eps)
