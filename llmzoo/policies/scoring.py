"""Log-probabilities of tokens from hidden states, without the whole [tokens, vocabulary] at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from llmzoo.policies.sampling import Sampling, warp

_AT_ONCE = 2**24  # logits: 64 MiB in float32


def score(
    head: Callable[[Tensor], Tensor],
    states: Tensor,
    targets: Tensor,
    sampling: Sampling,
    *,
    vocabulary: int,
    recompute: bool,
) -> tuple[Tensor, Tensor]:
    """Of each target [M]: its log-probability, and the entropy of its distribution; float32 [M].

    ``head`` makes logits [., V] of ``states`` [M, H]. Where there are more than a few million
    logits, or with ``recompute``, they are made in pieces, and again in the backward pass.
    """
    most = max(1, _AT_ONCE // vocabulary)
    if len(targets) <= most and not recompute:
        return score_logits(head(states), targets, sampling)

    def piece(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        return score_logits(head(states), targets, sampling)

    found = [
        checkpoint(piece, *part, use_reentrant=False, preserve_rng_state=False)
        for part in zip(states.split(most), targets.split(most), strict=True)
    ]
    chosen, entropy = zip(*found, strict=True)
    return torch.cat(chosen), torch.cat(entropy)


def score_logits(logits: Tensor, targets: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """The same from logits [M, V] that are there already."""
    logprobs = warp(logits, sampling, keep=targets)
    chosen = logprobs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    probabilities = logprobs.exp()
    entropy = -(probabilities * logprobs.masked_fill(probabilities == 0, 0.0)).sum(dim=-1)
    return chosen, entropy
