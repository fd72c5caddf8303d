"""Generalised advantages from a critic's values, and the loss that trains the critic.

Pure functions. Those on the sequence of an agent's turns take float tensors [T].
"""

from __future__ import annotations

import torch
from torch import Tensor


def td_errors(rewards: Tensor, values: Tensor, discounts: Tensor) -> Tensor:
    """delta_t = r_t + discount_t V_{t+1} - V_t. [T], [T+1], [T] -> [T]; see :func:`gae`."""
    assert len(values) == len(rewards) + 1 == len(discounts) + 1
    return rewards + discounts * values[1:] - values[:-1]


def gae(rewards: Tensor, values: Tensor, discounts: Tensor, lam: float | Tensor) -> Tensor:
    """A_t = delta_t + discount_t lam_t A_{t+1}: generalised advantages (arXiv 1506.02438).

    ``rewards`` [T]: received between turn t and the agent's next turn. ``discounts`` [T]: the
    discount from turn t+1 to turn t, 0 if an episode ends in between. ``values`` [T+1]: the
    critic's, detached. The last one is the bootstrap value: 0 if the episode terminated, V of the
    last observation if it was truncated. ``lam`` is a number or [T]: 0 gives :func:`td_errors`, 1
    the discounted return minus V. The result [T] plus ``values[:-1]`` gives the critic's targets.
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


def value_loss(values: Tensor, targets: Tensor, old_values: Tensor, clip: float | None) -> Tensor:
    """1/2 max((v - t)^2, (old + clamp(v - old, -clip, clip) - t)^2), elementwise.

    The counterpart of the clipped ratio for values, and just as pessimistic. PPO's code has it, its
    paper (arXiv 1707.06347) does not (see Engstrom et al., arXiv 2005.12729). The gradient is zero
    if v has left the range and is nearer to t than the edge of the range; if v has left the range
    and is farther from t, it still moves towards t. ``clip`` None: 1/2 (v - t)^2. All shapes are
    equal; no gradient reaches ``targets`` or ``old_values``.
    """
    targets, old_values = targets.detach(), old_values.detach()
    plain = (values - targets) ** 2
    if clip is None:
        return 0.5 * plain
    near = old_values + (values - old_values).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - targets) ** 2)
