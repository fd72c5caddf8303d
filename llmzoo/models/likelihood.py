"""Log-probabilities of given completions, with gradients.

The model processes each prompt once for all its completions, without padding (packing.py). If
:mod:`.attention` (on a GPU, :mod:`.fused`) does not support the model, it processes padded rows of
prompt and completion instead.

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
from llmzoo.models.cpu_products import is_faster_with_onednn
from llmzoo.models.packing import PackedTexts, Segments, pack_groups
from llmzoo.models.padded import completion_logits, left_pad, token_positions
from llmzoo.models.sampling import Sampling
from llmzoo.models.scoring import score, score_logits

_MIN_HEAD_SIZE = 16  # smallest attention head that fused.py supports
_CHECKPOINT: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": False}
_LayerContext = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The likelihood of N completions, padded to C tokens. ``mask`` is 1 where a token was sampled.

    ``logprobs`` are log-probabilities under the sampling distribution, and ``entropy`` is that
    distribution's entropy in nats. All are float32 [N, C] and 0 at padding.

    Three fields are None unless requested. ``top`` (bool [N, C]) is True where no other
    token was more likely. ``hidden`` [N, C, H] is the state from which the model predicts token c,
    so ``hidden[:, 0]`` belongs to the prompt's last token; its values at padding are arbitrary.
    ``divergence`` [N, C] is the divergence from a teacher's distribution, 0 at padding.
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

    ``recompute``: turns on gradient checkpointing, and is called before each run of a layer; see
    :func:`checkpoint_layers`. ``compiled``: run the layers as compiled code (:mod:`.compiling`) if
    gradients are enabled.
    """
    rows = [ids for group in completions for ids in group]
    targets = torch.tensor([token for ids in rows for token in ids], device=model.device)
    if attention.is_supported(model.config) and _can_pack(model):
        row = _pack(prompts, completions, model.device)
        compiled_code = (
            compile_layers(model) if compiled and torch.is_grad_enabled() else nullcontext()
        )
        fast = not compiled and is_faster_with_onednn(model, len(row.ids))
        with compiled_code, _forward_context(model, recompute, fast=fast) as recomputes:
            states = attention.run_with_layout(
                model, row.ids, row.positions, row, compiled=compiled
            )[row.predicts]
        logprobs, entropy, is_top = score(
            model.get_output_embeddings(),
            states,
            targets,
            sampling,
            vocabulary=model.config.vocab_size,
            recompute=recomputes,
            top=top,
        )
    else:
        with (
            _record_head_inputs(model) as head_inputs,
            _forward_context(model, recompute) as recomputes,
        ):
            compute_logits = (
                recurrent.completion_logits if recurrent.carries_state(model) else completion_logits
            )
            logits, slots = compute_logits(model, prompts, completions, pad_id)
        states = head_inputs[0].flatten(0, 1)[slots]
        score_function = (
            partial(checkpoint, score_logits, **_CHECKPOINT) if recomputes else score_logits
        )
        logprobs, entropy, is_top = score_function(logits, targets, sampling, top)
    segments = Segments([len(ids) for ids in rows], model.device)
    mask = segments.real.float()
    return Likelihood(
        segments.grid(logprobs) * mask,
        segments.grid(entropy) * mask,
        mask,
        None if is_top is None else segments.grid(is_top) & segments.real,
        segments.grid(states) if hidden else None,
    )


def _can_pack(model: Any) -> bool:
    """Whether the model's device has an attention kernel for packed rows."""
    return model.device.type == "cpu" or attention.head_size(model.config) >= _MIN_HEAD_SIZE


def _pack(
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    device: torch.device,
) -> Any:
    if device.type == "cpu":
        return pack_groups(prompts, completions, device)
    from llmzoo.models.fused import (
        PackedTree,
    )  # the import takes seconds, and a CPU does not need it

    return PackedTree(prompts, completions, device)


def last_states(
    model: Any,
    texts: Sequence[Sequence[int]],
    counts: Sequence[int],
    pad_id: int = 0,
    *,
    recompute: Callable[[], None] | None = None,
) -> Tensor:
    """The hidden states [sum of counts, H] of the last ``counts[b]`` tokens of each text, in order.

    A text's last state predicts its next token, like ``hidden[:, 0]`` of a likelihood.
    ``model`` does not need an output layer. ``recompute``: as for :func:`likelihood`.
    """
    if attention.is_supported(model.config):
        packed = PackedTexts(texts, model.device)
        with _forward_context(model, recompute, fast=is_faster_with_onednn(model, len(packed.ids))):
            states = attention.run_with_layout(model, packed.ids, packed.positions, packed)
        width = packed.segments.width
        tails = _tail_indices([b * width + len(text) for b, text in enumerate(texts)], counts)
        return states[packed.segments.source[tails.to(model.device)]]
    if recurrent.carries_state(model):
        ids, mask = (tensor.to(model.device) for tensor in recurrent.right_pad(texts, pad_id))
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
        [i for end, count in zip(ends, counts, strict=True) for i in range(end - count, end)],
        dtype=torch.long,
    )


@contextmanager
def _forward_context(
    model: Any, recompute: Callable[[], None] | None, *, fast: bool = False
) -> Iterator[bool]:
    """The context of a forward pass. Yields whether the backward pass recomputes the layers.

    ``fast``: the recomputation multiplies with oneDNN, as the forward pass does.
    """
    if recompute is None or not torch.is_grad_enabled():
        yield False
        return
    before_layer, has_layouts = recompute, attention.is_supported(model.config)

    @contextmanager
    def layer_context() -> Iterator[None]:
        before_layer()
        with attention.use_layouts(model, fast=fast) if has_layouts else nullcontext():
            yield

    with checkpoint_layers(model, layer_context):
        yield True


@contextmanager
def _record_head_inputs(model: Any) -> Iterator[list[Tensor]]:
    """Collect the input [rows, tokens, H] of the output layer at each forward pass."""
    head_inputs: list[Tensor] = []
    handle = model.get_output_embeddings().register_forward_pre_hook(
        lambda _, inputs: head_inputs.append(inputs[0])
    )
    try:
        yield head_inputs
    finally:
        handle.remove()


@contextmanager
def checkpoint_layers(model: nn.Module, layer_context: _LayerContext) -> Iterator[None]:
    """Gradient checkpointing: within this context each layer keeps only its inputs.

    The backward pass runs the layers again (Chen et al., arXiv 1604.06174). Both runs enter
    ``layer_context``, which restores any state other than the inputs, such as the active adapter.
    transformers' own option works only in training mode, where dropout is on, and a likelihood has
    no dropout. A forward pass in this context must not use a key-value cache: the second run would
    extend it again.

    Raises :class:`ConfigError` for a model without layers that transformers can checkpoint.
    """
    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    if not layers:
        raise ConfigError(
            f"{type(model).__name__} has no layers that transformers can checkpoint: "
            "set gradient_checkpointing=False"
        )
    original_forwards = [layer.__dict__.get("forward") for layer in layers]
    for layer in layers:
        # the instance attribute overrides the class's method until it is deleted
        layer.forward = partial(_checkpoint, layer, layer.forward, layer_context)
    try:
        yield
    finally:
        for layer, forward in zip(layers, original_forwards, strict=True):
            del layer.forward
            if forward is not None:
                layer.forward = forward


def _checkpoint(
    layer: nn.Module,
    forward: Callable[..., Any],
    layer_context: _LayerContext,
    *inputs: Any,
    **kwargs: Any,
) -> Any:
    def run(*inputs: Any) -> Any:
        layer.eval()  # no dropout, even if training mode was switched on before the backward pass
        with layer_context():
            return forward(*inputs, **kwargs)

    return checkpoint(run, *inputs, **_CHECKPOINT)


def do_nothing() -> None:
    """The ``recompute`` callback for layers whose output depends only on their inputs."""
