"""Log-probabilities of given completions, with gradients.

Each prompt is read once for all its completions: their rows attend to a shared copy of its
key-value cache, through which gradients flow back into the prompt. Under gradient checkpointing
there is no cache to share, and whole rows are read instead.

Shapes: B prompts, N = sum of completions over the prompts, P prompt tokens (left-padded),
C completion tokens (right-padded), H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from llmzoo.policies.decode import left_pad, read_prompts
from llmzoo.policies.recompute import recomputed_layers
from llmzoo.policies.sampling import Sampling, warp


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Of N completions, padded to C tokens: ``mask`` is 1 where a token was sampled.

    ``logprobs`` are those of the distribution that is sampled from; ``entropy`` is that
    distribution's, in nats. All are float32 [N, C]; padding holds 0.

    ``hidden`` [N, C, H], where it was asked for: the state from which the model predicts token c,
    so that ``hidden[:, 0]`` is the one at the last token of the prompt. What stands at padding
    means nothing.
    """

    logprobs: Tensor
    entropy: Tensor
    mask: Tensor
    hidden: Tensor | None = None


@dataclass(frozen=True, slots=True)
class _Rows:
    """The completions as a batch: ids and mask [N, C], and the prompt [N] of each."""

    target: Tensor
    mask: Tensor
    prompt_of: Tensor


def likelihood(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    sampling: Sampling,
    *,
    pad_id: int,
    hidden: bool = False,
    recompute: Callable[[], None] | None = None,
) -> Likelihood:
    """The likelihood of ``completions[b]`` after ``prompts[b]``, rows in that order.

    ``recompute``: checkpoint gradients; called before a layer runs (again), see
    :func:`llmzoo.policies.recompute.recomputed_layers`.
    """
    counts = [len(group) for group in completions]
    rows = _pad_right([ids for group in completions for ids in group], counts, pad_id, model.device)
    with _head_inputs(model) as states:
        if recompute is None:
            logits = _through_shared_prompts(model, prompts, counts, rows, pad_id)
            states[0] = states[0][rows.prompt_of]
            chosen, entropy = _score(logits, rows.target, sampling)
        else:
            with recomputed_layers(model, recompute):
                logits = _through_whole_rows(model, prompts, rows, pad_id)
            chosen, entropy = checkpoint(
                _score, logits, rows.target, sampling, use_reentrant=False, preserve_rng_state=False
            )
    return Likelihood(
        chosen * rows.mask,
        entropy * rows.mask,
        rows.mask,
        torch.cat(states, dim=1) if hidden else None,
    )


def prompt_states(model: PreTrainedModel, prompts: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """The states [B, H] at the prompts' last tokens: ``hidden[:, 0]`` of what might follow them."""
    ids, mask = left_pad(prompts, pad_id, model.device)
    with _head_inputs(model) as states:
        model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(dim=1) - 1).clamp_min(0),
            use_cache=False,
            logits_to_keep=1,
        )
    return states[0][:, -1]


def _pad_right(
    flat: Sequence[Sequence[int]], counts: Sequence[int], pad_id: int, device: torch.device
) -> _Rows:
    width = max(len(ids) for ids in flat)
    target = torch.full((len(flat), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(flat), width))
    for row, ids in enumerate(flat):
        target[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        mask[row, : len(ids)] = 1.0
    prompt_of = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return _Rows(target.to(device), mask.to(device), prompt_of.to(device))


@contextmanager
def _head_inputs(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """Collects what the output layer reads, a tensor [rows, tokens, H] for each forward pass."""
    read: list[Tensor] = []
    handle = model.get_output_embeddings().register_forward_pre_hook(
        lambda _, inputs: read.append(inputs[0])
    )
    try:
        yield read
    finally:
        handle.remove()


def _through_shared_prompts(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    counts: Sequence[int],
    rows: _Rows,
    pad_id: int,
) -> Tensor:
    """Logits [N, C, V] that predict the completions, each prompt read once."""
    read = read_prompts(model, prompts, pad_id)
    cache, index = read.cache, rows.prompt_of
    if len(set(counts)) == 1:
        cache.batch_repeat_interleave(counts[0])  # its gradient is a plain sum
    else:
        cache.batch_select_indices(index)
    logits = read.logits[index].unsqueeze(1)  # [N, 1, V]: predicts each completion's first token
    width = rows.target.shape[1]
    if width == 1:
        return logits
    rest = model(
        input_ids=rows.target[:, :-1],
        attention_mask=torch.cat([read.mask[index], rows.mask[:, :-1].long()], dim=1),
        position_ids=read.lengths[index, None] + torch.arange(width - 1, device=index.device),
        past_key_values=cache,
        use_cache=True,
    ).logits
    return torch.cat([logits, rest], dim=1)


def _through_whole_rows(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], rows: _Rows, pad_id: int
) -> Tensor:
    """The same logits [N, C, V] from rows of prompt and completion, without a cache."""
    prompt_ids, prompt_mask = left_pad(prompts, pad_id, rows.target.device)
    index = rows.prompt_of
    mask = torch.cat([prompt_mask[index], rows.mask[:, :-1].long()], dim=1)
    return model(
        input_ids=torch.cat([prompt_ids[index], rows.target[:, :-1]], dim=1),
        attention_mask=mask,
        position_ids=(mask.cumsum(dim=1) - 1).clamp_min(0),
        use_cache=False,
        # prompts end and completions begin in the same column of every row
        logits_to_keep=rows.target.shape[1],
    ).logits


def _score(logits: Tensor, target: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Log-probability of each target token, and the distribution's entropy: float32 [N, C]."""
    logprobs = warp(logits, sampling, keep=target)
    chosen = logprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    probabilities = logprobs.exp()
    entropy = -(probabilities * logprobs.masked_fill(probabilities == 0, 0.0)).sum(dim=-1)
    return chosen, entropy
