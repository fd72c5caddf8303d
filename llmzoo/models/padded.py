"""Padded batches and transformers' own cache, for models that :mod:`.attention` does not support.

Shapes: B prompts of P tokens (left-padded), N rows, C completion tokens (right-padded), V
vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from llmzoo.models.packing import Segments


class CacheDecoder:
    """Rows that grow by one token at a time. A prompt is read once; its cache is copied to its rows.

    Like :class:`llmzoo.models.prefix.SharedPrefixDecoder`, but for any causal language model.
    """

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], counts: Sequence[int], pad_id: int
    ):
        self._model = model
        ids, mask = left_pad(prompts, pad_id, model.device)
        positions = token_positions(mask)
        self._cache = DynamicCache(config=model.config)
        logits = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        self.logits, self._mask, self._next = logits, mask, positions[:, -1] + 1
        self.keep([prompt for prompt, count in enumerate(counts) for _ in range(count)])

    def step(self, tokens: Tensor) -> None:
        """Append a token [N] to each row."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        self.logits = self._model(
            input_ids=tokens.unsqueeze(-1),
            attention_mask=self._mask,
            position_ids=self._next.unsqueeze(-1),
            past_key_values=self._cache,
            use_cache=True,
        ).logits[:, -1]
        self._next = self._next + 1

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows: indices in ascending order; one may be there several times."""
        kept = torch.tensor(rows, device=self.logits.device)
        self._cache.batch_select_indices(kept)
        self.logits, self._mask, self._next = self.logits[kept], self._mask[kept], self._next[kept]


def completion_logits(
    model: Any,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    pad_id: int,
) -> tuple[Tensor, Tensor]:
    """The logits [sum of lengths, V] that predict each completion token, in order.

    Also returns the index of each of these tokens in the flattened cells [N, C].
    """
    flat = [ids for group in completions for ids in group]
    longest = max(len(ids) for ids in flat)
    # in every row the completion begins in the same column
    prompt_ids, prompt_mask = left_pad(
        [prompt for prompt, group in zip(prompts, completions, strict=True) for _ in group],
        pad_id,
        model.device,
    )
    completion_ids = torch.full((len(flat), longest - 1), pad_id)
    for row, ids in enumerate(flat):
        completion_ids[row, : len(ids) - 1] = torch.tensor(ids[:-1])
    cells = Segments([len(ids) for ids in flat], model.device)
    mask = torch.cat([prompt_mask, cells.real[:, 1:].long()], dim=1)
    logits: Tensor = model(
        input_ids=torch.cat([prompt_ids, completion_ids.to(model.device)], dim=1),
        attention_mask=mask,
        position_ids=token_positions(mask),
        use_cache=False,
        logits_to_keep=longest,
    ).logits
    return logits.flatten(0, 1)[cells.slots], cells.slots


def token_positions(mask: Tensor) -> Tensor:
    """The positions [N, T] of tokens under an attention mask [N, T] with padding on the left."""
    return (mask.cumsum(dim=1) - 1).clamp_min(0)


def left_pad(
    prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Prompts of different lengths as one batch: ids [B, P] and attention mask [B, P]."""
    width = max(len(prompt) for prompt in prompts)
    ids = torch.full((len(prompts), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(prompts), width), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt, dtype=torch.long)
        mask[row, width - len(prompt) :] = 1
    return ids.to(device), mask.to(device)
