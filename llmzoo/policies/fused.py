"""Packed groups on an accelerator: one fused kernel over the whole flat row (flex attention)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
from transformers.integrations.flex_attention import compile_friendly_flex_attention

Kernel = Callable[..., Any]


def group_mask(group: Tensor, piece: Tensor) -> BlockMask:
    """The attention mask of T tokens, in which all prompts come first.

    ``group`` [T]: the index of each token's group. ``piece`` [T]: 0 in prompts, and a different
    number in each completion. A token sees the earlier tokens of its piece and its group's prompt.
    """

    def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        near = (piece[key] == 0) | (piece[key] == piece[query])
        return (key <= query) & (group[key] == group[query]) & near

    return create_block_mask(sees, None, None, len(group), len(group), device=str(group.device))


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: BlockMask,
    scaling: float,
    kernel: Kernel = compile_friendly_flex_attention,
) -> Tensor:
    """Attention outputs [1, T, H, D] of queries [1, H, T, D]; keys and values may have fewer heads."""
    out: Tensor = kernel(
        query,
        key,
        value,
        block_mask=mask,
        enable_gqa=query.shape[1] != key.shape[1],
        scale=scaling,
    )
    return out.transpose(1, 2)
