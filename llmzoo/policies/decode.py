"""Sampling from a causal language model, K completions a prompt.

Each prompt is read once; its key-value cache is then copied to the K rows. Rows that have ended
are taken out of the batch, so that the last long answer does not drag the others along.

Shapes: B prompts, K completions each, N rows alive, P prompt tokens (left-padded), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from llmzoo.policies.sampling import Sampling, draw, warp

_COMPACT_BELOW = 0.75  # copying the cache pays when at least a quarter of the rows have ended


@dataclass(slots=True)
class Tokens:
    """One sampled row: ids and log-probabilities as sampled, end-of-sequence included."""

    ids: list[int]
    logprobs: list[float]
    ended: bool  # by the end-of-sequence token or a stop string, rather than by the token limit


@torch.no_grad()
def sample(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    k: int,
    sampling: Sampling,
    *,
    eos_ids: Collection[int],
    pad_id: int,
    generator: torch.Generator,
    greedy: bool = False,
    stopped: Callable[[list[int]], bool] | None = None,
) -> list[list[Tokens]]:
    """K sampled rows for each prompt. ``stopped(ids)`` says whether a stop string has appeared."""
    device = model.device
    read = read_prompts(model, prompts, pad_id)
    cache = read.cache
    cache.batch_repeat_interleave(k)
    logits_NV = read.logits.repeat_interleave(k, dim=0)
    mask = read.mask.repeat_interleave(k, dim=0)
    next_position_N = read.lengths.repeat_interleave(k, dim=0)

    rows = [Tokens([], [], False) for _ in range(len(prompts) * k)]
    row_of_N = list(range(len(rows)))  # which of ``rows`` each row of the batch writes
    alive_N = torch.ones(len(rows), dtype=torch.bool)
    eos = set(eos_ids)
    for step in range(sampling.max_new_tokens):
        logprobs_NV = warp(logits_NV, sampling)
        token_N = logprobs_NV.argmax(dim=-1) if greedy else draw(logprobs_NV, generator)
        logprob_N = logprobs_NV.gather(-1, token_N.unsqueeze(-1)).squeeze(-1)
        for n, (token, logprob) in enumerate(
            zip(token_N.tolist(), logprob_N.tolist(), strict=True)
        ):
            if not alive_N[n]:
                continue
            row = rows[row_of_N[n]]
            row.ids.append(token)
            row.logprobs.append(logprob)
            if token in eos or (stopped is not None and stopped(row.ids)):
                row.ended = True
                alive_N[n] = False
        left = int(alive_N.sum())
        if left == 0 or step + 1 == sampling.max_new_tokens:
            break
        if left < _COMPACT_BELOW * len(alive_N):
            keep = alive_N.nonzero().squeeze(-1)
            on_device = keep.to(device)
            cache.batch_select_indices(on_device)
            token_N, mask = token_N[on_device], mask[on_device]
            next_position_N = next_position_N[on_device]
            row_of_N = [row_of_N[n] for n in keep.tolist()]
            alive_N = alive_N[keep]
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        logits_NV = model(
            input_ids=token_N.unsqueeze(-1),
            attention_mask=mask,
            position_ids=next_position_N.unsqueeze(-1),
            past_key_values=cache,
            use_cache=True,
        ).logits[:, -1]
        next_position_N = next_position_N + 1
    return [rows[b * k : (b + 1) * k] for b in range(len(prompts))]


@dataclass(frozen=True, slots=True)
class ReadPrompts:
    """B prompts as the model has read them, padded on the left to P tokens.

    ``logits`` [B, V] predict each completion's first token; ``mask`` [B, P] is 1 on tokens;
    ``lengths`` [B] are the prompts' own, and so the position of what follows.
    """

    cache: DynamicCache
    logits: Tensor
    mask: Tensor
    lengths: Tensor


def read_prompts(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], pad_id: int
) -> ReadPrompts:
    """Run the model over prompts once, keeping its key-value cache (and gradients, if enabled)."""
    input_ids, mask = left_pad(prompts, pad_id, model.device)
    positions = (mask.cumsum(dim=1) - 1).clamp_min(0)
    cache = DynamicCache(config=model.config)
    output = model(
        input_ids=input_ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return ReadPrompts(cache, output.logits[:, -1], mask, positions[:, -1] + 1)


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
