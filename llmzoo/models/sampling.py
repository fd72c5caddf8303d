"""How tokens are drawn from logits: the distribution that sampling settings define, and its noise.

The loop that samples completions token by token is :func:`llmzoo.models.decode.sample`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.models.noise import noise_key
from llmzoo.models.sampling_settings import Sampling

__all__ = ["Sampling", "Uniforms", "sample_by_inversion", "sample_tokens", "warp"]

_BLOCK = 256  # tokens summed at once; a longer sum would round rare tokens away
_NOISE_BLOCK = 64  # tokens of a row whose numbers are drawn together


def warp(logits: Tensor, sampling: Sampling, keep: Tensor | None = None) -> Tensor:
    """Log-probabilities of the sampling distribution, float32 [..., V], from logits [..., V].

    Tokens outside top-k or the top-p nucleus get -inf. ``keep`` [...]: token ids that the filters
    never remove, so tokens sampled earlier keep a finite probability under updated weights.
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
        before = probabilities.cumsum(dim=-1) - probabilities  # mass of the more likely tokens
        outside = torch.zeros_like(before, dtype=torch.bool).scatter(
            -1, order, before >= sampling.top_p
        )
        removed = outside if removed is None else removed | outside
    if removed is not None:
        if keep is not None:
            removed = removed.scatter(-1, keep.unsqueeze(-1), False)
        scores = scores.masked_fill(removed, float("-inf"))
    return scores.log_softmax(dim=-1)


def sample_tokens(logits: Tensor, sampling: Sampling, uniforms: Tensor | None) -> Tensor:
    """Sample a token for each row of ``logits`` [N, V]: ids and log-probabilities, float64 [2, N].

    ``uniforms`` [N]: the rows' noise; None: the likeliest token of each.
    """
    logprobs = warp(logits, sampling)
    ids = logprobs.argmax(dim=-1) if uniforms is None else sample_by_inversion(logprobs, uniforms)
    chosen = logprobs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return torch.stack([ids.double(), chosen.double()])


def sample_by_inversion(logprobs: Tensor, uniforms: Tensor) -> Tensor:
    """Draw a token id [N] for each row of log-probabilities [N, V] from numbers ``uniforms`` [N].

    This inverts the cumulative distribution in float64, first over blocks of tokens, then inside the
    block. A token of probability 0 is never drawn.
    """
    n, v = logprobs.shape
    probabilities = F.pad(logprobs.exp(), (0, -v % _BLOCK)).view(n, -1, _BLOCK)
    block, left = _locate_share(probabilities.sum(-1, dtype=torch.float64), uniforms)
    within, _ = _locate_share(
        probabilities[torch.arange(n, device=block.device), block].double(), left
    )
    return block * _BLOCK + within


def _locate_share(masses: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """The index at which the cumulative sum of ``masses`` [N, M] passes ``share`` [N] of the total.

    Also returns how far into that mass the share lies. Both shares are in [0, 1).
    """
    sums = masses.cumsum(-1)
    # a share below 1 must not round up to the total: no mass lies beyond it
    wanted = torch.minimum(share * sums[:, -1], sums[:, -1].nextafter(torch.zeros_like(share)))
    index = torch.searchsorted(sums, wanted.unsqueeze(-1), right=True)
    mass = masses.gather(-1, index)
    inside = (wanted.unsqueeze(-1) - (sums.gather(-1, index) - mass)) / mass
    return index.squeeze(-1), inside.squeeze(-1).clamp(0, 1 - 2**-53)


class Uniforms:
    """Random numbers in [0, 1), one for each row and token, K rows per key.

    They depend on the key only, not on the rest of the batch. They are drawn on the CPU, so a seed
    gives the same numbers on every device.
    """

    def __init__(self, keys: Sequence[int], group_size: int, device: torch.device):
        self._keys, self._group_size, self._device = keys, group_size, device
        self._generator = torch.Generator()
        self._block, self._numbers = -1, torch.empty(0)

    def at(self, step: int) -> Tensor:
        """The numbers of all rows at ``step``: float64 [keys * K]."""
        block, column = divmod(step, _NOISE_BLOCK)
        if block != self._block:
            self._block, self._numbers = block, self._generate_block(block)
        return self._numbers[column]

    def block(self, step: int) -> Tensor | None:
        """The numbers [64, keys * K] from ``step`` on, if 64 steps begin with it; else None."""
        number, column = divmod(step, _NOISE_BLOCK)
        return self._generate_block(number) if column == 0 else None

    def _generate_block(self, block: int) -> Tensor:
        numbers = torch.empty(len(self._keys), self._group_size, _NOISE_BLOCK, dtype=torch.float64)
        for row, key in zip(numbers, self._keys, strict=True):
            self._generator.manual_seed(noise_key(key, "block", block))
            row.uniform_(generator=self._generator)
        return numbers.flatten(0, 1).T.contiguous().to(self._device)
