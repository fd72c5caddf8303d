"""How tokens are drawn from logits: the distribution that sampling settings define."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.policies.settings import Sampling

__all__ = ["Sampling", "draw", "warp"]

_BLOCK = 256  # tokens of a sum: so that rare ones are not lost in the rounding of a longer one


def warp(logits: Tensor, sampling: Sampling, keep: Tensor | None = None) -> Tensor:
    """Log-probabilities of the distribution that is sampled from.

    logits: [..., V]; returns float32 [..., V]. Tokens outside top-k or the top-p nucleus get
    -inf. ``keep`` [...]: token ids that stay in whatever the filters say, so that tokens sampled
    earlier keep a finite probability under updated weights.
    """
    scores = logits.float() / sampling.temperature
    removed = None
    if sampling.top_k and sampling.top_k < scores.shape[-1]:
        kth = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        removed = scores < kth
        scores = scores.masked_fill(removed, float("-inf")) if keep is None else scores
    if sampling.top_p < 1.0:
        filtered = scores if removed is None else scores.masked_fill(removed, float("-inf"))
        ordered, order = filtered.sort(dim=-1, descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # mass of what is more likely
        outside = torch.zeros_like(before, dtype=torch.bool).scatter(
            -1, order, before >= sampling.top_p
        )
        removed = outside if removed is None else removed | outside
    if removed is not None:
        if keep is not None:
            removed = removed.scatter(-1, keep.unsqueeze(-1), False)
        scores = scores.masked_fill(removed, float("-inf"))
    return scores.log_softmax(dim=-1)


def draw(logprobs: Tensor, uniforms: Tensor) -> Tensor:
    """A token id [N] per row of log-probabilities [N, V]: where their sum passes ``uniforms`` [N].

    The inverse of the distribution function: first of blocks of tokens, then inside the block, both
    in float64. A token of probability 0 is never drawn.
    """
    n, v = logprobs.shape
    probabilities = F.pad(logprobs.exp(), (0, -v % _BLOCK)).view(n, -1, _BLOCK)
    block, left = _passed(probabilities.sum(-1, dtype=torch.float64), uniforms)
    within, _ = _passed(probabilities[torch.arange(n, device=block.device), block].double(), left)
    return block * _BLOCK + within


def _passed(masses: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Where the sum over ``masses`` [N, M] passes ``share`` [N] of it all, and how far into that.

    Both shares are in [0, 1).
    """
    sums = masses.cumsum(-1)
    # rounding must not take a share below 1 to the whole, beyond which no mass lies
    wanted = torch.minimum(share * sums[:, -1], sums[:, -1].nextafter(torch.zeros_like(share)))
    index = torch.searchsorted(sums, wanted.unsqueeze(-1), right=True)
    mass = masses.gather(-1, index)
    inside = (wanted.unsqueeze(-1) - (sums.gather(-1, index) - mass)) / mass
    return index.squeeze(-1), inside.squeeze(-1).clamp(0, 1 - 2**-53)
