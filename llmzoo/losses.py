"""Losses on token log-probabilities; one concept each.

Shapes: N completions, C tokens (padded). ``mask`` [N, C] is 1 on sampled tokens, the
end-of-sequence token included, and 0 on padding.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Reduction = Literal["token_mean", "sequence_sum", "sequence_mean"]


def policy_gradient(logprobs: Tensor, advantages: Tensor) -> Tensor:
    """-A log pi per token [N, C]; ``advantages`` is [N]. REINFORCE (Williams, 1992)."""
    return -advantages.unsqueeze(-1) * logprobs


def clipped_ratio(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, low: float, high: float
) -> Tensor:
    """PPO's pessimistic surrogate per token [N, C]: -min(r A, clip(r, 1-low, 1+high) A).

    ``r = exp(logprobs - old_logprobs)``; at the first update r is 1 and the gradient is that of
    :func:`policy_gradient`. PPO (arXiv 1707.06347); a ``high`` of its own as in DAPO
    (arXiv 2503.14476).
    """
    ratio = torch.exp(logprobs - old_logprobs)
    weights = advantages.unsqueeze(-1)
    return -torch.minimum(ratio * weights, ratio.clamp(1 - low, 1 + high) * weights)


def clip_fraction(
    logprobs: Tensor, old_logprobs: Tensor, mask: Tensor, low: float, high: float
) -> Tensor:
    """The share of sampled tokens whose ratio lies outside the clip range (scalar)."""
    ratio = torch.exp(logprobs - old_logprobs)
    outside = ((ratio < 1 - low) | (ratio > 1 + high)).float()
    return (outside * mask).sum() / mask.sum().clamp_min(1)


def kl_k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Schulman's k3 estimate of KL(pi || reference) per token [N, C]: exp(d) - d - 1 >= 0.

    ``d = reference - logprobs``; unbiased for tokens sampled from pi, and of low variance.
    """
    difference = reference_logprobs - logprobs
    return torch.exp(difference) - difference - 1


def token_weights(
    mask: Tensor, reduction: Reduction, *, rows: int | None = None, tokens: int | None = None
) -> Tensor:
    """Weights [N, C] whose product with per-token losses, summed, is the loss.

    ``token_mean``: over all sampled tokens; long answers weigh more. ``sequence_sum``: the sum
    over an answer's tokens, averaged over answers: the policy gradient's own weighting.
    ``sequence_mean``: the mean over an answer's tokens, averaged over answers, as GRPO was
    published; it favours short right answers and long wrong ones (arXiv 2503.20783).

    ``rows`` and ``tokens`` are those of the whole batch where ``mask`` is only a part of it, so
    that gradients accumulated over parts equal those of the whole.
    """
    rows = len(mask) if rows is None else rows
    if reduction == "token_mean":
        total = mask.sum().clamp_min(1) if tokens is None else max(tokens, 1)
        return mask / total
    if reduction == "sequence_sum":
        return mask / rows
    if reduction == "sequence_mean":
        return mask / mask.sum(dim=-1, keepdim=True).clamp_min(1) / rows
    raise ValueError(f"unknown reduction {reduction!r}")
