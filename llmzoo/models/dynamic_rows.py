"""Rows that grow by a decoder that runs the model for one token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from llmzoo.models.sampling import Sampling, Uniforms, sample_tokens


class Decoder(Protocol):
    """Rows of tokens that a model continues together, one token at a time."""

    logits: Tensor  # [N, V] of each row's next token

    def step(self, tokens: Tensor) -> None:
        """Append a token [N] to each row."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows: indices in ascending order."""
        ...


class DynamicRows:
    """The rows of a decoder, as of :class:`llmzoo.models.decode.Rows`."""

    def __init__(self, decoder: Decoder, sampling: Sampling, uniforms: Uniforms, *, greedy: bool):
        self._decoder, self._uniforms = decoder, uniforms
        self._sampling, self._greedy = sampling, greedy
        self._numbers = torch.arange(len(decoder.logits), device=decoder.logits.device)
        self._token: Tensor | None = None  # [N], which the decoder has not read yet
        self._count = 0

    def grow(self, count: int) -> Tensor:
        return torch.stack([self._next() for _ in range(count)])

    def _next(self) -> Tensor:
        if self._token is not None:
            self._decoder.step(self._token)
        noise = None if self._greedy else self._uniforms.at(self._count)[self._numbers]
        sampled = sample_tokens(self._decoder.logits, self._sampling, noise)
        self._token, self._count = sampled[0].long(), self._count + 1
        return sampled

    def keep(self, rows: Sequence[int]) -> None:
        assert self._token is not None
        kept = torch.tensor(rows, device=self._numbers.device)
        self._decoder.keep(rows)
        self._token, self._numbers = self._token[kept], self._numbers[kept]

    def close(self) -> None:
        """The decoder goes with the rows."""
