"""Decoding that stores a prompt's keys and values once for all its completions.

Shapes: B prompts of P tokens at most, N rows (completions that still grow), R rows of a prompt at
most, t tokens of a row so far; A query heads, G of them for each of kv = A/G key-value heads, D the
size of a head; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.models import attention, llama_body
from llmzoo.models.packing import PackedTexts, Segments

_FIRST_ROOM = 32  # tokens per row that are allocated at first; doubled as needed


class SharedPrefixDecoder:
    """``counts[b]`` rows after ``prompts[b]``. All rows grow together, by one token at a time.

    A row attends to its prompt, whose keys and values exist once, and to its own tokens, in one
    softmax. Rows of one prompt are neighbours. ``logits`` [N, V] predict each row's next token.
    """

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], counts: Sequence[int], room: int
    ):
        self._model = model
        self._llama_body = (
            llama_body.LlamaBody(model) if llama_body.is_faster_on_cpu(model) else None
        )
        self._room, self._token_count = room, 0
        read = CachedPrompts(prompts, model.device)
        states = attention.run_with_layout(model, read.ids, read.positions, read)
        self._prompts: Segments = read.segments
        self._prefixes = read.kept
        # layer -> the rows' own keys and values [B, kv, R, ., D]
        self._own: dict[int, tuple[Tensor, Tensor]] = {}
        self._assign([b for b, count in enumerate(counts) for _ in range(count)])
        prompt_of = self._indices(self._prompt_of)
        self.logits = self._head(states[read.ends]).index_select(0, prompt_of)

    def step(self, tokens: Tensor) -> None:
        """Append a token [N] to each row."""
        positions = self._starts + self._token_count
        if self._llama_body is None:
            states = attention.run_with_layout(self._model, tokens, positions, self)
        else:
            states = self._llama_body.states(
                tokens, self._llama_body.rotation(positions), self._attend
            )
        self._token_count += 1
        self.logits = self._head(states)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows: indices in ascending order."""
        kept = self._indices(rows)
        before, slots = self._rows, self._rows.slots[kept]
        prompt_of = [self._prompt_of[n] for n in rows]
        left = sorted(set(prompt_of))
        if len(left) < len(self._prompts.lengths):
            self._prompts = Segments([self._prompts.lengths[b] for b in left], kept.device)
            width, prompts = self._prompts.width, self._indices(left)
            self._prefixes = {
                layer: (keys[prompts, ..., :width], values[prompts, :, :width])
                for layer, (keys, values) in self._prefixes.items()
            }
        self.logits = self.logits[kept]
        number = {b: n for n, b in enumerate(left)}
        self._assign([number[b] for b in prompt_of])
        # the old slot of each row, in the new grid
        positions = self._rows.grid(slots)
        self._own = {
            layer: (
                _take_rows(keys, positions, before.width),
                _take_rows(values, positions, before.width),
            )
            for layer, (keys, values) in self._own.items()
        }

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        """The layout's attention; the model's own layers call it."""
        query, key, value = (x[0].transpose(0, 1) for x in (query, key, value))  # [N, heads, D]
        out = self._attend(layer, query * scaling, key, value)
        return out.view(1, *query.shape)

    def _attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Outputs [N, A * D] of scaled queries [N, A, D] on keys and values [N, kv, D]."""
        _, heads, d = query.shape
        kv, g = key.shape[1], heads // key.shape[1]
        b, r = len(self._rows.lengths), self._rows.width
        prompt_keys, prompt_values = self._prefixes[layer]  # [B, kv, D, P] and [B, kv, P, D]
        own_keys, own_values = self._grow(layer, key, value)  # [B, kv, R, t, D]
        t = own_keys.shape[3]

        query = self._rows.grid(query).view(b, r, kv, g, d).transpose(1, 2)
        query = query.reshape(b * kv, r * g, d)
        far = torch.bmm(query, prompt_keys.flatten(0, 1))  # [B * kv, R * G, P]
        if self._prompt_mask is not None:
            far = (far.view(b, kv * r * g, -1) + self._prompt_mask).view(far.shape)
        near = torch.bmm(query.reshape(-1, g, d), own_keys.flatten(0, 2).transpose(1, 2))
        scores = torch.cat([far, near.view(b * kv, r * g, t)], dim=-1)
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(value.dtype)
        far, near = weights.split([far.shape[-1], t], dim=-1)
        out = torch.bmm(far, prompt_values.flatten(0, 1)).view(-1, g, d)
        out = torch.baddbmm(out, near.reshape(-1, g, t), own_values.flatten(0, 2))
        out = out.view(b, kv, r, g * d).transpose(1, 2).reshape(b, r, heads * d)
        return self._rows.flat(out)

    def _grow(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The layer's own keys and values [B, kv, R, t, D], one token longer."""
        at = self._token_count
        key, value = (self._rows.grid(x).transpose(1, 2) for x in (key, value))  # [B, kv, R, D]
        if layer not in self._own:
            shape = (*key.shape[:3], min(_FIRST_ROOM, self._room), key.shape[3])
            self._own[layer] = key.new_empty(shape), value.new_empty(shape)
        keys, values = self._own[layer]
        if at == keys.shape[3]:
            more = min(self._room, 2 * at) - at
            keys, values = (F.pad(x, (0, 0, 0, more)) for x in (keys, values))
            self._own[layer] = keys, values
        keys.select(3, at).copy_(key)
        values.select(3, at).copy_(value)
        return keys.narrow(3, 0, at + 1), values.narrow(3, 0, at + 1)

    def _assign(self, prompt_of: list[int]) -> None:
        """Set which prompt each row belongs to; rows of one prompt are neighbours."""
        self._prompt_of = prompt_of
        # the position of each row's first token
        self._starts = self._indices([self._prompts.lengths[b] for b in prompt_of])
        counts = [len(list(same)) for _, same in groupby(prompt_of)]
        self._rows = Segments(counts, self._model.device)
        prompt_mask = self._prompts.padding_mask(self._model.dtype)
        self._prompt_mask = None if prompt_mask is None else prompt_mask.unsqueeze(1)  # [B, 1, P]

    def _indices(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, device=self._model.device)

    def _head(self, states: Tensor) -> Tensor:
        if self._llama_body is not None:
            return self._llama_body.logits(states)
        logits: Tensor = self._model.get_output_embeddings()(states)
        return logits


def _take_rows(kept: Tensor, positions: Tensor, width: int) -> Tensor:
    """Rows of ``kept`` [B, kv, R, ., D] at ``positions`` [B', R'], numbered over all prompts."""
    return kept[positions // width, :, positions % width].transpose(1, 2).contiguous()


class CachedPrompts(PackedTexts):
    """Prompts that keep each layer's keys [B, kv, D, P] and values [B, kv, P, D]."""

    def __init__(self, prompts: Sequence[Sequence[int]], device: torch.device):
        super().__init__(prompts, device)
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}

    def _attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        # in the layouts in which every step multiplies them
        self.kept[layer] = (
            key.permute(0, 2, 3, 1).contiguous(),
            value.transpose(1, 2).contiguous(),
        )
        return super()._attend(layer, query, key, value, scaling)
