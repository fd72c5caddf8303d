"""Log-probabilities of given completions, with gradients.

Each prompt is read once for all its completions, without padding (packing.py). A model whose
attention :mod:`.attention` does not support, or :mod:`.fused` on a GPU, reads padded rows of prompt
and completion instead.

Shapes: B prompts, N = sum of completions over the prompts, C completion tokens (right-padded),
H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from llmzoo.errors import ConfigError
from llmzoo.models import attention, recurrent
from llmzoo.models.compiling import compile_layers
from llmzoo.models.cpu_products import gains
from llmzoo.models.packing import PackedTexts, Segments, pack_groups
from llmzoo.models.padded import completion_logits, left_pad, token_positions
from llmzoo.models.sampling import Sampling
from llmzoo.models.scoring import score, score_logits

_MIN_HEAD_SIZE = 16  # numbers of a head that fused.py can read
_CHECKPOINT: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": False}
_Around = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The likelihood of N completions, padded to C tokens. ``mask`` is 1 where a token was sampled.

    ``logprobs`` are log-probabilities under the sampling distribution, and ``entropy`` is that
    distribution's entropy in nats. All are float32 [N, C] and 0 at padding.

    Three fields are None unless they are asked for. ``top`` (bool [N, C]) is True where no other
    token was more likely. ``hidden`` [N, C, H] is the state from which the model predicts token c,
    so ``hidden[:, 0]`` belongs to the prompt's last token; its values at padding are arbitrary.
    ``divergence`` [N, C], 0 at padding, is that from a teacher's distribution at each token.
    """

    logprobs: Tensor
    entropy: Tensor
    mask: Tensor
    top: Tensor | None = None
    hidden: Tensor | None = None
    divergence: Tensor | None = None


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
    compiled: bool = False,
) -> Likelihood:
    """The likelihood of ``completions[b]`` after ``prompts[b]``, with rows in that order.

    ``recompute``: turns gradient checkpointing on. It is called before each run of a layer; see
    :func:`checkpoint_layers`. ``compiled``: with gradients, the layers run as compiled code
    (:mod:`.compiling`).
    """
    rows = [ids for group in completions for ids in group]
    targets = torch.tensor([token for ids in rows for token in ids], device=model.device)
    if attention.is_supported(model.config) and _can_pack(model):
        row = _pack(prompts, completions, model.device)
        compiled_code = (
            compile_layers(model) if compiled and torch.is_grad_enabled() else nullcontext()
        )
        fast = not compiled and gains(model, len(row.ids))
        with compiled_code, _forward_context(model, recompute, fast=fast) as recomputes:
            states = attention.run_with_layout(
                model, row.ids, row.positions, row, compiled=compiled
            )[row.predicts]
        chosen, entropy, tops = score(
            model.get_output_embeddings(),
            states,
            targets,
            sampling,
            vocabulary=model.config.vocab_size,
            recompute=recomputes,
            top=top,
        )
    else:
        with _record_head_inputs(model) as read, _forward_context(model, recompute) as recomputes:
            get_logits = (
                recurrent.completion_logits if recurrent.carries_state(model) else completion_logits
            )
            logits, slots = get_logits(model, prompts, completions, pad_id)
        states = read[0].flatten(0, 1)[slots]
        scored = partial(checkpoint, score_logits, **_CHECKPOINT) if recomputes else score_logits
        chosen, entropy, tops = scored(logits, targets, sampling, top)
    cells = Segments([len(ids) for ids in rows], model.device)
    mask = cells.real.float()
    return Likelihood(
        cells.grid(chosen) * mask,
        cells.grid(entropy) * mask,
        mask,
        None if tops is None else cells.grid(tops) & cells.real,
        cells.grid(states) if hidden else None,
    )


def _can_pack(model: Any) -> bool:
    """Whether there is a kernel for packed rows on the model's device."""
    return model.device.type == "cpu" or attention.head_size(model.config) >= _MIN_HEAD_SIZE


def _pack(
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    device: torch.device,
) -> Any:
    if device.type == "cpu":
        return pack_groups(prompts, completions, device)
    from llmzoo.models.fused import PackedTree  # takes seconds to import; unused on a CPU

    return PackedTree(prompts, completions, device)


def last_states(
    model: Any,
    texts: Sequence[Sequence[int]],
    counts: Sequence[int],
    pad_id: int = 0,
    *,
    recompute: Callable[[], None] | None = None,
) -> Tensor:
    """The hidden states [sum of counts, H] at the last ``counts[b]`` tokens of each text, in order.

    The last state of a text predicts its continuation, like ``hidden[:, 0]`` of a likelihood.
    ``model``: may lack an output layer. ``recompute``: as for :func:`likelihood`.
    """
    if attention.is_supported(model.config):
        packed = PackedTexts(texts, model.device)
        with _forward_context(model, recompute, fast=gains(model, len(packed.ids))):
            states = attention.run_with_layout(model, packed.ids, packed.positions, packed)
        width = packed.segments.width
        cells = _tail_indices([b * width + len(text) for b, text in enumerate(texts)], counts)
        return states[packed.segments.source[cells.to(model.device)]]
    if recurrent.carries_state(model):
        ids, mask = (part.to(model.device) for part in recurrent.right_pad(texts, pad_id))
        with _forward_context(model, recompute):
            states = model.get_decoder()(input_ids=ids, attention_mask=mask, use_cache=False)
        tails = _tail_indices(
            [b * ids.shape[1] + len(text) for b, text in enumerate(texts)], counts
        )
        return states.last_hidden_state.flatten(0, 1)[tails.to(model.device)]
    ids, mask = left_pad(texts, pad_id, model.device)
    with _forward_context(model, recompute):
        padded: Tensor = model.get_decoder()(
            input_ids=ids, attention_mask=mask, position_ids=token_positions(mask), use_cache=False
        ).last_hidden_state
    tails = _tail_indices([(b + 1) * ids.shape[1] for b in range(len(texts))], counts)
    return padded.flatten(0, 1)[tails.to(model.device)]


def _tail_indices(ends: Sequence[int], counts: Sequence[int]) -> Tensor:
    """The ``counts[b]`` indices before each of the ``ends``."""
    return torch.tensor(
        [at for end, count in zip(ends, counts, strict=True) for at in range(end - count, end)],
        dtype=torch.long,
    )


@contextmanager
def _forward_context(
    model: Any, recompute: Callable[[], None] | None, *, fast: bool = False
) -> Iterator[bool]:
    """The context of a forward pass. Yields whether the backward pass runs the layers again.

    ``fast``: with oneDNN's products, as in the forward pass.
    """
    if recompute is None or not torch.is_grad_enabled():
        yield False
        return
    prepare, layouts = recompute, attention.is_supported(model.config)

    @contextmanager
    def around() -> Iterator[None]:
        prepare()
        with attention.use_layouts(model, fast=fast) if layouts else nullcontext():
            yield

    with checkpoint_layers(model, around):
        yield True


@contextmanager
def _record_head_inputs(model: Any) -> Iterator[list[Tensor]]:
    """Collect the input [rows, tokens, H] of the output layer at each forward pass."""
    read: list[Tensor] = []
    handle = model.get_output_embeddings().register_forward_pre_hook(
        lambda _, inputs: read.append(inputs[0])
    )
    try:
        yield read
    finally:
        handle.remove()


@contextmanager
def checkpoint_layers(model: nn.Module, around: _Around) -> Iterator[None]:
    """Gradient checkpointing: within this context each layer keeps only its inputs.

    The backward pass runs the layers again (Chen et al., arXiv 1604.06174). ``around`` is entered
    at both runs, to restore state beside the inputs, such as the active adapter. transformers' own
    switch works only in training mode, where dropout is on, and a likelihood has no dropout. A
    forward pass in this context must not use a key-value cache: the second run would extend it
    again.

    Raises :class:`ConfigError` for a model without layers that transformers can checkpoint.
    """
    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    if not layers:
        raise ConfigError(
            f"{type(model).__name__} has no layers that transformers can checkpoint: "
            "set gradient_checkpointing=False"
        )
    before = [layer.__dict__.get("forward") for layer in layers]
    for layer in layers:
        # the instance's attribute hides the class's method until it is deleted
        layer.forward = partial(_checkpoint, layer, layer.forward, around)
    try:
        yield
    finally:
        for layer, forward in zip(layers, before, strict=True):
            del layer.forward
            if forward is not None:
                layer.forward = forward


def _checkpoint(
    layer: nn.Module,
    forward: Callable[..., Any],
    around: _Around,
    *inputs: Any,
    **settings: Any,
) -> Any:
    def run(*inputs: Any) -> Any:
        layer.eval()  # no dropout, even if training mode was switched on before the backward pass
        with around():
            return forward(*inputs, **settings)

    return checkpoint(run, *inputs, **_CHECKPOINT)


def do_nothing() -> None:
    """A ``recompute`` for layers that depend only on their inputs."""
