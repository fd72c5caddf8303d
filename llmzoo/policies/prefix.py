"""Decoding with the prompts' keys and values kept once for all completions of a prompt.

Shapes: B prompts of P tokens at most, N rows (completions that still grow), R rows of a prompt at
most, H query heads, G of them for each key-value head, D the size of a head, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.policies import attention
from llmzoo.policies.packing import PackedTexts
from llmzoo.policies.segments import Segments

_FIRST_ROOM = 32  # tokens of a row that room is made for at first; it doubles as needed


class SharedPrefixDecoder:
    """Rows that grow by a token at a time, all at once, ``counts[b]`` of them after ``prompts[b]``.

    A row attends to its prompt, whose keys and values exist once, and to its own tokens; the two
    score parts meet in one softmax. Rows of a prompt stand side by side. ``logits`` [N, V] predict
    each row's next token.
    """

    def __init__(
        self, model: Any, prompts: Sequence[Sequence[int]], counts: Sequence[int], room: int
    ):
        self._model = model
        self._room = room
        read = _Prompts(prompts, model.device)
        states = attention.run(model, read.ids, read.positions, read)
        self._prompts, self._prefixes = read.segments, read.kept
        self._next = torch.empty(0)  # of each row, the place of its next token
        self._own: dict[int, tuple[Tensor, Tensor]] = {}
        self._grown = 0
        self._place(
            torch.repeat_interleave(torch.arange(len(prompts)), torch.tensor(counts)).tolist()
        )
        self.logits = self._head(states[read.ends]).index_select(0, self._prompt_of)

    def step(self, tokens: Tensor) -> None:
        """Each row takes its next token [N]."""
        states = attention.run(self._model, tokens, self._next, self)
        self._grown += 1
        self._next = self._next + 1
        self.logits = self._head(states)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only, numbers [M] in rising order."""
        prompt_of = self._prompt_of[rows].tolist()
        left = sorted(set(prompt_of))
        if len(left) < len(self._prompts.lengths):
            chosen = torch.tensor(left, device=rows.device)
            self._prompts = Segments([self._prompts.lengths[b] for b in left], rows.device)
            width = self._prompts.width
            self._prefixes = {
                layer: (keys[chosen, ..., :width], values[chosen, :, :width])
                for layer, (keys, values) in self._prefixes.items()
            }
            prompt_of = [left.index(b) for b in prompt_of]
        self._own = {
            layer: (keys[rows], values[rows]) for layer, (keys, values) in self._own.items()
        }
        self.logits = self.logits[rows]
        self._place(prompt_of)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        query, key, value = (x[0].transpose(0, 1) for x in (query, key, value))  # [N, heads, D]
        n, heads, d = query.shape
        kv = key.shape[1]
        query = (query * scaling).view(n, kv, heads // kv, d)
        prompt_keys, prompt_values = self._prefixes[layer]  # [B, kv, D, P] and [B, kv, P, D]
        own_keys, own_values = self._grow(layer, key, value)  # [N, kv, t, D]

        far = self._by_prompt(query) @ prompt_keys  # [B, kv, R*G, P]
        if self._outside is not None:
            far = far + self._outside
        near = self._by_prompt(query @ own_keys.transpose(-1, -2))  # [B, kv, R*G, t]
        scores = torch.cat([far, near], dim=-1)
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(value.dtype)
        far, near = weights.split([far.shape[-1], near.shape[-1]], dim=-1)
        out = self._by_row(far @ prompt_values, heads // kv)
        out += self._by_row(near, heads // kv) @ own_values
        return out.reshape(1, n, heads, d)

    def _grow(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The layer's own keys and values, one token longer."""
        at = self._grown
        if layer not in self._own:
            shape = (*key.shape[:2], min(_FIRST_ROOM, self._room), key.shape[2])
            self._own[layer] = key.new_empty(shape), value.new_empty(shape)
        keys, values = self._own[layer]
        if at == keys.shape[2]:
            more = min(self._room, 2 * at) - at
            keys, values = (F.pad(x, (0, 0, 0, more)) for x in (keys, values))
            self._own[layer] = keys, values
        keys[:, :, at], values[:, :, at] = key, value
        return keys[:, :, : at + 1], values[:, :, : at + 1]

    def _place(self, prompt_of: list[int]) -> None:
        """Note which prompt each row belongs to; rows of a prompt stand side by side."""
        device = self._model.device
        self._prompt_of = torch.tensor(prompt_of, device=device)
        lengths = torch.tensor(self._prompts.lengths, device=device)
        self._next = lengths[self._prompt_of] + self._grown
        self._rows = Segments([len(list(same)) for _, same in groupby(prompt_of)], device)
        outside = self._prompts.outside(self._model.dtype)
        self._outside = None if outside is None else outside[:, None, None, :]

    def _by_prompt(self, x: Tensor) -> Tensor:
        """[N, kv, G, .] as [B, kv, R*G, .]."""
        return self._rows.grid(x).transpose(1, 2).flatten(2, 3)

    def _by_row(self, x: Tensor, g: int) -> Tensor:
        """[B, kv, R*G, .] as [N, kv, G, .]."""
        return self._rows.flat(x.unflatten(2, (-1, g)).transpose(1, 2))

    def _head(self, states: Tensor) -> Tensor:
        logits: Tensor = self._model.get_output_embeddings()(states)
        return logits


class _Prompts(PackedTexts):
    """Prompts of which each layer's keys [B, kv, D, P] and values [B, kv, P, D] are kept."""

    def __init__(self, prompts: Sequence[Sequence[int]], device: torch.device):
        super().__init__(prompts, device)
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        keys, values = (self.segments.grid(x[0].transpose(0, 1)) for x in (key, value))
        # as they are multiplied with at every step
        self.kept[layer] = (
            keys.permute(0, 2, 3, 1).contiguous(),
            values.transpose(1, 2).contiguous(),
        )
        return super().attend(layer, query, key, value, scaling)
