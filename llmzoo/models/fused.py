"""Packed groups on an accelerator: one fused kernel over the whole flat row (flex attention).

Flex attention (arXiv 2412.05496) compiles a kernel for a mask that is given as a function. Here the
row is a tree in preorder, so a token's descendants are a range, and the mask two comparisons. What it
asks for, and why a packed row has it (sources of PyTorch 2.13, ``torch/_inductor/kernel/flex``):

- Heads of at least 16 numbers: Triton's ``tl.dot`` takes no smaller ones (``flex_attention.py``
  raises). The embedded model has 32. A model with smaller heads reads padded rows.
- Mask blocks that are a multiple of the kernel's own blocks, or a configuration is left out
  (``SPARSE_KV_BLOCK_SIZE % BLOCK_N``). Those are powers of two up to 128, so 128 fits all.
- No length that is a multiple of 128: other lengths are masked at the end (``IS_DIVISIBLE``). The
  length differs from call to call; ``torch.compile`` marks it dynamic after the second one.
- One dtype for queries, keys and values, or the backward pass raises. Under autocast
  :func:`llmzoo.models.attention._layout_attention` casts them alike.
- A number of query heads that is a multiple of the key-value heads, with ``enable_gqa``.
- float32 is multiplied without tensor cores unless ``torch.set_float32_matmul_precision`` allows TF32. Here three
  TF32 products make one (``tf32x3``): on an H200 a forward and backward pass of 2,528 tokens took 0.80 ms instead of
  2.13, and outputs were as far from float64 (2.8e-7 and 2.9e-7, gradients 1.2e-6 and 0.9e-6).

On a CPU it has a forward pass only, compiled or not, which the tests compare with the dense path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask
from transformers.integrations.flex_attention import compile_friendly_flex_attention

from llmzoo.models.trie import Trie

Kernel = Callable[..., Any]
BLOCK = 128  # tokens; the default of ``create_block_mask``


class PackedTree:
    """Prompts and completions as one trie: each token attends to itself and to what it follows.

    ``ids`` and ``positions`` [T]: the model's input, with every node followed by all that descends
    from it. A completion's last token predicts nothing, so it is left out. ``predicts`` [sum of
    lengths]: for each completion token, in order, the index in the row from which it is predicted.
    """

    def __init__(
        self,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[Sequence[int]]],
        device: torch.device,
    ):
        trie = Trie()
        predicts: list[int] = []
        for prompt, group in zip(prompts, completions, strict=True):
            end = trie.add(prompt)[-1]
            for ids in group:
                predicts += [end, *trie.add(ids[:-1], end)]
        places, last = (torch.tensor(numbers) for numbers in trie.preorder())
        nodes = places.argsort()
        self.ids = torch.tensor(trie.ids)[nodes].to(device)
        self.positions = torch.tensor(trie.depths)[nodes].to(device)
        self.predicts = places[predicts].to(device)
        self.mask = tree_mask(last[nodes], device)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        return attend(query, key, value, self.mask, scaling)


def tree_mask(last: Tensor, device: torch.device) -> BlockMask:
    """The attention mask of T tokens in preorder. ``last`` [T]: each one's last descendant, or itself.

    The blocks that hold any pair are found on the host. ``create_block_mask`` would find them from
    all T^2 pairs: several GB for 32,768 tokens.
    """
    total = len(last)
    reach = last.to(device)

    def can_attend(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query <= reach[key])

    first = torch.arange(0, total, BLOCK)
    # how far the tokens of each block of keys are seen
    furthest = torch.stack([block.max() for block in last.split(BLOCK)])
    pairs = (first.unsqueeze(1) >= first) & (first.unsqueeze(1) <= furthest)
    order = pairs.int().argsort(dim=1, descending=True, stable=True)  # those to compute first
    return BlockMask.from_kv_blocks(
        pairs.sum(1, dtype=torch.int32)[None, None].to(device),
        order.int()[None, None].to(device),
        BLOCK_SIZE=BLOCK,
        mask_mod=can_attend,
        seq_lengths=(total, total),
    )


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
        kernel_options=_kernel_options(query),
    )
    return out.transpose(1, 2)


def _kernel_options(query: Tensor) -> dict[str, str] | None:
    if (
        query.dtype != torch.float32
        or torch.version.hip
        or torch.get_float32_matmul_precision() != "highest"
    ):
        return None
    return {"FLOAT32_PRECISION": "'tf32x3'"}
