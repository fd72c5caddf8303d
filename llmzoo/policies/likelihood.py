"""Log-probabilities of given completions, with gradients.

Each prompt is read once for all its completions, and nothing is padded (packing.py); a model whose
attention is not known to layouts reads whole padded rows instead.

Shapes: B prompts, N = sum of completions over the prompts, C completion tokens (right-padded),
H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from llmzoo.policies import attention
from llmzoo.policies.packing import Packed, PackedTexts
from llmzoo.policies.padded import left_pad, positions_of, whole_rows
from llmzoo.policies.recompute import recomputed_layers
from llmzoo.policies.sampling import Sampling
from llmzoo.policies.scoring import score, score_logits
from llmzoo.policies.segments import Segments


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The likelihood of N completions, padded to C tokens. ``mask`` is 1 where a token was sampled.

    ``logprobs`` are log-probabilities under the sampling distribution, and ``entropy`` is that
    distribution's entropy in nats. All are float32 [N, C] and 0 at padding.

    Two fields are None unless they are asked for. ``top`` (bool [N, C]) is True where no other
    token was more likely. ``hidden`` [N, C, H] is the state from which the model predicts token c,
    so ``hidden[:, 0]`` belongs to the prompt's last token; its values at padding are arbitrary.
    """

    logprobs: Tensor
    entropy: Tensor
    mask: Tensor
    top: Tensor | None = None
    hidden: Tensor | None = None


def likelihood(
    model: Any,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    sampling: Sampling,
    *,
    pad_id: int,
    top: bool = False,
    hidden: bool = False,
    recompute: Callable[[], None] | None = None,
) -> Likelihood:
    """The likelihood of ``completions[b]`` after ``prompts[b]``, rows in that order.

    ``recompute``: turns gradient checkpointing on. It is called before each run of a layer; see
    :func:`llmzoo.policies.recompute.recomputed_layers`.
    """
    rows = [ids for group in completions for ids in group]
    targets = torch.tensor([token for ids in rows for token in ids], device=model.device)
    if attention.supported(model.config):
        packed = Packed(prompts, completions, model.device)
        with _layers(model, recompute) as again:
            states = attention.run(model, packed.ids, packed.positions, packed)[packed.predicts]
        chosen, entropy, tops = score(
            model.get_output_embeddings(),
            states,
            targets,
            sampling,
            vocabulary=model.config.vocab_size,
            recompute=again,
            top=top,
        )
    else:
        with _head_inputs(model) as read, _layers(model, recompute) as again:
            logits, real = whole_rows(model, prompts, completions, pad_id)
        states = read[0][real]
        if again:
            chosen, entropy, tops = checkpoint(
                score_logits,
                logits,
                targets,
                sampling,
                top,
                use_reentrant=False,
                preserve_rng_state=False,
            )
        else:
            chosen, entropy, tops = score_logits(logits, targets, sampling, top)
    cells = Segments([len(ids) for ids in rows], model.device)
    mask = cells.real.float()
    return Likelihood(
        cells.grid(chosen) * mask,
        cells.grid(entropy) * mask,
        mask,
        None if tops is None else cells.grid(tops) & cells.real,
        cells.grid(states) if hidden else None,
    )


def last_states(
    model: Any,
    texts: Sequence[Sequence[int]],
    counts: Sequence[int],
    pad_id: int = 0,
    *,
    recompute: Callable[[], None] | None = None,
) -> Tensor:
    """The states [sum of counts, H] at the last ``counts[b]`` tokens of each text, in order.

    The last one is that from which the text is continued: ``hidden[:, 0]`` of a likelihood.
    ``model``: also a body without an output layer. ``recompute``: as of :func:`likelihood`.
    """
    wanted = torch.tensor(counts, device=model.device)
    if attention.supported(model.config):
        packed = PackedTexts(texts, model.device)
        lengths = torch.tensor(packed.segments.lengths, device=model.device)
        with _layers(model, recompute):
            states = attention.run(model, packed.ids, packed.positions, packed)
        return states[packed.positions >= (lengths - wanted).repeat_interleave(lengths)]
    ids, mask = left_pad(texts, pad_id, model.device)
    with _layers(model, recompute):
        padded: Tensor = model.get_decoder()(
            input_ids=ids, attention_mask=mask, position_ids=positions_of(mask), use_cache=False
        ).last_hidden_state
    width = ids.shape[1]
    return padded[torch.arange(width, device=ids.device) >= width - wanted.unsqueeze(-1)]


@contextmanager
def _layers(model: Any, recompute: Callable[[], None] | None) -> Iterator[bool]:
    """The context of a forward pass; whether its layers run again, as they ran now, backwards."""
    if recompute is None or not torch.is_grad_enabled():
        yield False
        return
    prepare, layouts = recompute, attention.supported(model.config)

    @contextmanager
    def around() -> Iterator[None]:
        prepare()
        with attention.led_to_layouts(model.config) if layouts else nullcontext():
            yield

    with recomputed_layers(model, around):
        yield True


@contextmanager
def _head_inputs(model: Any) -> Iterator[list[Tensor]]:
    """Collects what the output layer reads, a tensor [rows, tokens, H] for each forward pass."""
    read: list[Tensor] = []
    handle = model.get_output_embeddings().register_forward_pre_hook(
        lambda _, inputs: read.append(inputs[0])
    )
    try:
        yield read
    finally:
        handle.remove()
