"""Models that carry a state from token to token: state spaces, linear attention, convolutions.

Padding on the left would enter the state, and transformers' cache of keys and values does not hold it. So
each row begins with its first token, is padded on the right, and is read again for every token that is sampled.

Shapes: B prompts, N rows, T tokens of the longest row, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# attention layers: they read earlier tokens, and can mask any of them
_ATTENTION = {"full_attention", "sliding_attention", "chunked_attention"}


def carries_state(model: Any) -> bool:
    """Whether the model's next token depends on more than keys and values of earlier ones."""
    kinds = vars(model.config).get("layer_types") or ()
    return bool(getattr(model, "_is_stateful", False)) or not _ATTENTION.issuperset(kinds)


class RereadDecoder:
    """Rows that grow by one token at a time; rows of equal length are read together, without a cache."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], counts: Sequence[int]):
        self._model = model
        self._rows = [[*prompt] for prompt in prompts]
        self.logits = self._read()
        self.keep([prompt for prompt, count in enumerate(counts) for _ in range(count)])

    def step(self, tokens: Tensor) -> None:
        """Append a token [N] to each row."""
        for row, token in zip(self._rows, tokens.tolist(), strict=True):
            row.append(token)
        self.logits = self._read()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows: indices in ascending order; one may be there several times."""
        self._rows = [[*self._rows[row]] for row in rows]
        self.logits = self.logits[torch.tensor(rows, device=self.logits.device)]

    def _read(self) -> Tensor:
        lengths = [len(row) for row in self._rows]
        read: dict[int, Tensor] = {}
        for length in dict.fromkeys(lengths):
            same = [i for i, other in enumerate(lengths) if other == length]
            ids = torch.tensor([self._rows[i] for i in same], device=self._model.device)
            read |= dict(zip(same, _logits(self._model, ids, keep=1)[:, -1], strict=True))
        return torch.stack([read[row] for row in range(len(lengths))])


def completion_logits(
    model: Any,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    pad_id: int,
) -> tuple[Tensor, Tensor]:
    """The logits [sum of lengths, V] that predict each completion token, in order.

    Also returns the place of each of these tokens in the flattened inputs of the output layer.
    """
    pairs = [(p, ids) for p, group in zip(prompts, completions, strict=True) for ids in group]
    ids, mask = right_pad([[*prompt, *completion[:-1]] for prompt, completion in pairs], pad_id)
    first = min(len(prompt) for prompt, _ in pairs) - 1  # earlier places predict no completion
    logits = _logits(model, ids.to(model.device), mask.to(model.device), keep=ids.shape[1] - first)
    width = logits.shape[1]
    before = ids.shape[1] - width
    slots = torch.tensor(
        [
            row * width + len(prompt) - 1 - before + place
            for row, (prompt, completion) in enumerate(pairs)
            for place in range(len(completion))
        ],
        device=model.device,
    )
    return logits.flatten(0, 1)[slots], slots


def right_pad(texts: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Texts of different lengths as one batch: ids [N, T] and attention mask [N, T]."""
    width = max(map(len, texts))
    ids = torch.tensor([[*text, *[pad_id] * (width - len(text))] for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts])
    return ids, mask


def _logits(model: Any, ids: Tensor, mask: Tensor | None = None, *, keep: int) -> Tensor:
    """The logits of the last ``keep`` places at least; of all where the family computes no fewer."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    known = inspect.signature(inner.forward).parameters
    fewer = {"logits_to_keep": keep} if "logits_to_keep" in known else {}
    logits: Tensor = model(input_ids=ids, attention_mask=mask, use_cache=False, **fewer).logits
    return logits
