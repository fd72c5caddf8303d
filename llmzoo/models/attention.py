"""Runs unchanged transformers models with attention layouts of our own.

A transformers model passes queries, keys and values to the attention function that its
configuration names. Ours calls a :class:`Layout`, which knows which token attends to which. So
prompts are read once for all their completions, without padding, masks or transformers' cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

from torch import Tensor
from transformers import AttentionInterface

from llmzoo.models.cpu_products import FastLinear, active_depth, is_faster_with_onednn

ATTENTION_NAME = "llmzoo_layout"

# families with causal attention over all earlier tokens, rotary positions, and no other interaction
# between tokens; the tests compare each with its own attention
SUPPORTED_FAMILIES = frozenset(
    {
        *("llama", "mistral", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe"),
        *("phi3", "gemma", "olmo2", "smollm3", "starcoder2"),
    }
)


class Layout(Protocol):
    """Computes the attention among the T tokens of a flat row."""

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        """Outputs [1, T, heads, D] of queries [1, heads, T, D]; keys and values may have fewer heads."""
        ...


def is_supported(config: Any) -> bool:
    """Whether layouts can replace the attention of a model with this configuration."""
    if config.model_type not in SUPPORTED_FAMILIES:
        return False
    entries = vars(config)  # some families lack these entries; to_dict would copy all
    kinds = entries.get("layer_types")
    if kinds is not None:
        return set(kinds) == {"full_attention"}
    return entries.get("sliding_window") is None


def head_size(config: Any) -> int:
    """The size of an attention head."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def run_with_layout(
    model: Any, ids: Tensor, positions: Tensor, layout: Layout, *, compiled: bool = False
) -> Tensor:
    """The last hidden states [T, H] of a flat row of token ids [T] at ``positions`` [T].

    ``model``: a causal language model of transformers, a ``PeftModel`` around one, or a model
    without an output layer. ``compiled``: its layers are compiled code.
    """
    with use_layouts(model, fast=is_faster_with_onednn(model, len(ids)) and not compiled):
        states: Tensor = (
            model.get_decoder()(
                input_ids=ids.unsqueeze(0),
                position_ids=positions.unsqueeze(0),
                use_cache=False,
                layout=layout,
            )
        ).last_hidden_state
    return states[0]


@contextmanager
def use_layouts(model: Any, *, fast: bool) -> Iterator[None]:
    """Within this context a model uses the layout passed to its call, and if ``fast`` oneDNN's products."""
    config = model.config
    before = config._attn_implementation
    config._attn_implementation = ATTENTION_NAME
    try:
        with FastLinear() if fast and not active_depth() else nullcontext():
            yield
    finally:
        config._attn_implementation = before


def _layout_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    layout: Layout,
    **_: Any,
) -> tuple[Tensor, None]:
    # under autocast, rotated queries and keys are float32, unlike values
    query, key = query.to(value.dtype), key.to(value.dtype)
    return layout.attend(module.layer_idx, query, key, value, scaling), None


AttentionInterface.register(ATTENTION_NAME, _layout_attention)
