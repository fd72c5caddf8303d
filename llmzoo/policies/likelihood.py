"""Log-probabilities of given completions, with gradients.

Each prompt is read once for all its completions: their rows attend to a shared copy of its
key-value cache, through which gradients flow back into the prompt.

Shapes: B prompts, N = sum of completions over the prompts, P prompt tokens (left-padded),
C completion tokens (right-padded), V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from llmzoo.policies.decode import read_prompts
from llmzoo.policies.sampling import Sampling, warp


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Of N completions, padded to C tokens: ``mask`` is 1 where a token was sampled.

    ``logprobs`` are those of the distribution that is sampled from; ``entropy`` is that
    distribution's, in nats. All are [N, C]; padding holds 0.
    """

    logprobs: Tensor
    entropy: Tensor
    mask: Tensor


def likelihood(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    sampling: Sampling,
    *,
    pad_id: int,
) -> Likelihood:
    """The likelihood of ``completions[b]`` after ``prompts[b]``, rows in that order."""
    device = model.device
    counts = [len(group) for group in completions]
    flat = [ids for group in completions for ids in group]
    width = max(len(ids) for ids in flat)
    target = torch.full((len(flat), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(flat), width))
    for row, ids in enumerate(flat):
        target[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        mask[row, : len(ids)] = 1.0
    target, mask = target.to(device), mask.to(device)

    read = read_prompts(model, prompts, pad_id)
    cache = read.cache
    index = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)).to(device)
    if len(set(counts)) == 1:
        cache.batch_repeat_interleave(counts[0])  # its gradient is a plain sum
    else:
        cache.batch_select_indices(index)
    logits = read.logits[index].unsqueeze(1)  # [N, 1, V]: predicts each completion's first token
    if width > 1:
        rest = model(
            input_ids=target[:, :-1],
            attention_mask=torch.cat([read.mask[index], mask[:, :-1].long()], dim=1),
            position_ids=read.lengths[index, None] + torch.arange(width - 1, device=device),
            past_key_values=cache,
            use_cache=True,
        ).logits
        logits = torch.cat([logits, rest], dim=1)  # [N, C, V]

    logprobs = warp(logits, sampling, keep=target)
    chosen = logprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    probabilities = logprobs.exp()
    entropy = -(probabilities * logprobs.masked_fill(probabilities == 0, 0.0)).sum(dim=-1)
    return Likelihood(chosen * mask, entropy * mask, mask)
