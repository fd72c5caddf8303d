"""Losses on token log-probabilities, one function per concept.

Shapes: N completions, C tokens (padded). ``mask`` [N, C] is 1 on sampled tokens, including the
end-of-sequence token, and 0 on padding. Losses are per token; :func:`token_weights` reduces them to
a scalar. :func:`llmzoo.learners.updates.policy_gradient.surrogate_loss` puts them together.
"""

from __future__ import annotations

import torch
from torch import Tensor

from llmzoo.learners.configs.surrogate import Reduction


def token_log_ratio(logprobs: Tensor, old_logprobs: Tensor) -> Tensor:
    """log pi - log pi_old of each token [N, C]: the ratio of PPO (arXiv 1707.06347) and GRPO."""
    return logprobs - old_logprobs


def sequence_log_ratio(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    """The completion's mean log ratio, at each of its tokens [N, C]; gradients flow per token.

    GSPO's ratio is the length-normalised ratio of whole completions: ``s_i = exp(1/|y_i| sum_t (log
    pi - log pi_old))``. Written as ``sg(log s_i) + log pi - sg(log pi)`` (GSPO-token), each token
    has the value of its completion and the derivative of its own log-probability: arXiv 2507.18071.

    With one advantage per completion, clipped or not, ``sequence_mean`` gives exactly the loss and
    the gradient of GSPO, ``1/N sum_i 1/|y_i| s_i A_i sum_t grad log pi``. ``sequence_sum``
    multiplies both by ``|y_i|`` for each completion, and ``token_mean`` by ``N |y_i| / (all
    tokens)``. A row without sampled tokens is 0.
    """
    difference = logprobs - old_logprobs
    lengths = mask.sum(dim=-1, keepdim=True).clamp_min(1)
    mean = (difference * mask).sum(dim=-1, keepdim=True) / lengths
    return mean.detach() + (logprobs - logprobs.detach())


def expand_per_token(advantages: Tensor) -> Tensor:
    """Advantages per completion [N] as a column [N, 1]; advantages per token [N, C] unchanged."""
    return advantages.unsqueeze(-1) if advantages.dim() == 1 else advantages


def policy_gradient_loss(logprobs: Tensor, advantages: Tensor) -> Tensor:
    """-A log pi per token [N, C]; ``advantages`` is [N] or [N, C]. REINFORCE (Williams, 1992)."""
    return -expand_per_token(advantages) * logprobs


def truncated_importance_weight(log_ratio: Tensor, cap: float) -> Tensor:
    """min(pi / mu, cap) of each token [N, C], without gradient: the weight of a token that mu sampled.

    Multiplied with :func:`policy_gradient_loss`, it corrects for a sampler that differs slightly from the
    policy, with a bounded variance. ``log_ratio``: log pi - log mu. These are the truncated weights of the
    policy gradient in IMPALA (arXiv 1802.01561); for language models whose sampler and trainer differ, see
    Yao et al., "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training" (2025).
    """
    return log_ratio.detach().exp().clamp(max=cap)


def clipped_surrogate_loss(
    log_ratio: Tensor, advantages: Tensor, low: float, high: float
) -> Tensor:
    """PPO's pessimistic surrogate per token [N, C]: -min(r A, clip(r, 1-low, 1+high) A).

    ``r = exp(log_ratio)``, of tokens or of sequences; ``advantages`` is [N] or [N, C]. At the first
    update r is 1 and the gradient is that of :func:`policy_gradient_loss`. PPO (arXiv 1707.06347);
    a separate ``high`` as in DAPO (arXiv 2503.14476).
    """
    ratio = torch.exp(log_ratio)
    weights = expand_per_token(advantages)
    return -torch.minimum(ratio * weights, ratio.clamp(1 - low, 1 + high) * weights)


def dual_clip(loss: Tensor, advantages: Tensor, bound: float) -> Tensor:
    """The loss of :func:`clipped_surrogate_loss` [N, C], capped at ``-bound * A`` where A < 0.

    PPO's minimum bounds r from above only for tokens with A > 0. A token with A < 0 that has become
    far more likely since it was sampled would have unlimited weight. If r exceeds ``bound`` (above
    1), its gradient is zero. ``advantages`` is [N] or [N, C]. Ye et al. (arXiv 1912.09729), who use
    3.
    """
    assert bound > 1, bound
    weights = expand_per_token(advantages)
    return torch.where(weights < 0, torch.minimum(loss, -bound * weights), loss)


def clip_fraction(log_ratio: Tensor, mask: Tensor, low: float, high: float) -> Tensor:
    """The share of sampled tokens whose ratio lies outside the clip range (scalar)."""
    ratio = torch.exp(log_ratio)
    outside = ((ratio < 1 - low) | (ratio > 1 + high)).float()
    return (outside * mask).sum() / mask.sum().clamp_min(1)


def approximate_kl(log_ratio: Tensor, mask: Tensor) -> Tensor:
    """Masked mean of exp(d) - 1 - d (scalar): an estimate of KL(pi_old || pi), for early stopping.

    ``d = log pi - log pi_old`` on tokens sampled from pi_old, as in PPO. Under pi_old the mean of
    exp(d) - 1 is 0 and the mean of -d is the KL, so the estimate is unbiased for token ratios, and
    never negative (k3 of Schulman, "Approximating KL Divergence", 2020). :func:`kl_k3` is the same
    formula in the other direction, for tokens sampled from pi itself.
    """
    estimate = torch.exp(log_ratio) - 1 - log_ratio
    return (estimate * mask).sum() / mask.sum().clamp_min(1)


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

    ``token_mean``: the mean over all sampled tokens; long completions have more weight.
    ``sequence_sum``: the sum over a completion's tokens, averaged over completions, which is the
    policy gradient's own weighting. ``sequence_mean``: the mean over a completion's tokens,
    averaged over completions, as GRPO was published; it favours short right completions and long
    wrong ones (arXiv 2503.20783).

    If ``mask`` is only a part of a batch, pass the ``rows`` and ``tokens`` of the whole batch.
    Gradients accumulated over the parts then equal the gradient of the whole batch.
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
