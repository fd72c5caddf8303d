"""Groups packed into one flat row without padding: every prompt once, then all completions.

Shapes: B prompts of P tokens at most, N completions of C tokens at most, K completions of a prompt
at most, T tokens in all; H query heads, G of them for each of the H/G key-value heads, D the size
of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def packs(sizes: Sequence[int], most: int) -> list[range]:
    """Split consecutive items with these sizes in tokens into packs of at most ``most`` tokens.

    An item larger than that is a pack of its own.
    """
    batches: list[range] = []
    room = 0
    for item, size in enumerate(sizes):
        if batches and size <= room:
            batches[-1] = range(batches[-1].start, item + 1)
            room -= size
        else:
            batches.append(range(item, item + 1))
            room = most - size
    return batches


class Segments:
    """A flat axis of T tokens that consists of S pieces, and the same tokens as a padded grid.

    Piece s has ``lengths[s]`` tokens. ``width``: the longest length. ``even``: whether all lengths
    are equal; the grid is then a view of the flat axis, and nothing is copied.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device):
        self.lengths = tuple(lengths)
        self.total = sum(lengths)
        self.width = max(lengths, default=0)
        self.even = self.total == self.width * len(lengths)
        sizes = torch.tensor(self.lengths, dtype=torch.long)
        begins = sizes.cumsum(0) - sizes
        columns = torch.arange(self.width)
        real = columns < sizes.unsqueeze(1)  # [S, width]
        self.real = real.to(device)
        # padding repeats the first token; its values are arbitrary and must not be used
        self._source = torch.where(real, begins.unsqueeze(1) + columns, 0).flatten().to(device)
        self._slots = real.flatten().nonzero().squeeze(1).to(device)

    def grid(self, flat: Tensor) -> Tensor:
        """[T, ...] as [S, width, ...]."""
        shape = (len(self.lengths), self.width, *flat.shape[1:])
        if self.even:
            return flat.view(shape)
        return flat.index_select(0, self._source).view(shape)

    def flat(self, grid: Tensor) -> Tensor:
        """[S, width, ...] as [T, ...]."""
        flat = grid.flatten(0, 1)
        return flat if self.even else flat.index_select(0, self._slots)

    @property
    def columns(self) -> Tensor:
        """The index [T] of each token in its piece."""
        every = torch.arange(self.width, device=self.real.device).expand(self.real.shape)
        return self.flat(every)

    @property
    def slots(self) -> Tensor:
        """The index [T] of each token in the flattened grid."""
        return self._slots

    def outside(self, dtype: torch.dtype) -> Tensor | None:
        """The mask [S, width] to add to attention scores: -inf at padding. None without padding."""
        if self.even:
            return None
        none = torch.zeros(self.real.shape, dtype=dtype, device=self.real.device)
        return none.masked_fill(~self.real, float("-inf"))


class PackedTexts:
    """B texts of at most P tokens. Each attends causally to itself.

    ``ids`` and ``positions`` [T]: the model's input. ``ends`` [B]: the index of each text's last
    token.
    """

    def __init__(self, texts: Sequence[Sequence[int]], device: torch.device):
        self.segments = Segments([len(text) for text in texts], device)
        self.ids = torch.tensor([token for text in texts for token in text], device=device)
        self.positions = self.segments.columns
        self.ends = torch.tensor(self.segments.lengths, device=device).cumsum(0) - 1

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        query, key, value = (self.segments.grid(x[0].transpose(0, 1)) for x in (query, key, value))
        return self.segments.flat(self._attend(layer, query, key, value, scaling)).unsqueeze(0)

    def _attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        """Outputs [B, P, H, D] for the texts as a padded grid."""
        return _causal(query, key, value, scaling)


class Packed:
    """Prompts, and completions that attend to their own prompt and to themselves.

    ``ids`` and ``positions`` [T]: the model's input. A completion's last token predicts nothing, so
    it is left out. ``predicts`` [sum of lengths]: for each completion token, in order, the index in
    the row from which it is predicted.
    """

    def __init__(
        self,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[Sequence[int]]],
        device: torch.device,
    ):
        rows = [ids for group in completions for ids in group]
        flat = [token for prompt in prompts for token in prompt]
        read = [len(ids) - 1 for ids in rows]
        self.prompts = Segments([len(prompt) for prompt in prompts], device)
        self.answers = Segments(read, device)
        self.groups = Segments([len(group) for group in completions], device)
        self.ids = torch.tensor(
            flat + [token for ids in rows for token in ids[:-1]], dtype=torch.long, device=device
        )
        prompt_of = torch.repeat_interleave(
            torch.arange(len(prompts), device=device),
            torch.tensor(self.groups.lengths, device=device),
        )
        sizes = torch.tensor(self.prompts.lengths, device=device)
        lengths = torch.tensor(self.answers.lengths, device=device)
        after = torch.repeat_interleave(sizes[prompt_of], lengths) + self.answers.columns
        self.positions = torch.cat([self.prompts.columns, after])
        self._prompt_of, self._lengths = prompt_of, lengths
        self.predicts = _predictors(sizes, prompt_of, lengths, self.prompts.total)

    @cached_property
    def mask(self) -> BlockMask:
        """Which token attends to which, for the fused kernel."""
        from llmzoo.policies.fused import group_mask  # takes seconds to import; unused on a CPU

        own = torch.arange(len(self._prompt_of), device=self.ids.device)
        group = torch.repeat_interleave(self._prompt_of, self._lengths)
        piece = torch.repeat_interleave(own + 1, self._lengths)
        prompts = torch.tensor(self.prompts.lengths, device=self.ids.device)
        first = torch.arange(len(prompts), device=self.ids.device).repeat_interleave(prompts)
        return group_mask(torch.cat([first, group]), torch.cat([torch.zeros_like(first), piece]))

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        if query.device.type != "cpu":
            from llmzoo.policies import fused

            return fused.attend(query, key, value, self.mask, scaling)
        sizes = [self.prompts.total, self.answers.total]
        # halves of [T, heads, D]; a split joins its gradients once, slices would add them
        halves = [x[0].transpose(0, 1).split(sizes) for x in (query, key, value)]
        prompt = [self.prompts.grid(x) for x, _ in halves]  # [B, P, heads, D]
        parts = [self.prompts.flat(_causal(prompt[0], prompt[1], prompt[2], scaling))]
        if self.answers.total:
            own = [self.groups.grid(self.answers.grid(x)) for _, x in halves]
            outside = self.prompts.outside(query.dtype)
            out = _SharedPrompt.apply(*own, *prompt[1:], outside, scaling)
            parts.append(self.answers.flat(self.groups.flat(out)))
        return torch.cat(parts).unsqueeze(0)


def _predictors(sizes: Tensor, prompt_of: Tensor, lengths: Tensor, start: int) -> Tensor:
    """For each completion: the index of its prompt's last token, then those of its own tokens."""
    last = (sizes.cumsum(0) - 1)[prompt_of]
    begins = start + lengths.cumsum(0) - lengths
    counts = lengths + 1
    first = counts.cumsum(0) - counts
    steps = torch.arange(int(counts.sum()), device=counts.device) - first.repeat_interleave(counts)
    own = begins.repeat_interleave(counts) + steps - 1
    return torch.where(steps == 0, last.repeat_interleave(counts), own)


def _causal(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Causal attention inside each segment [S, W, H, D]; padding on the right has no effect."""
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    out = F.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=scaling, enable_gqa=query.shape[1] != key.shape[1]
    )
    return out.transpose(1, 2)


class _SharedPrompt(torch.autograd.Function):
    """Attention of K completions to their prompt and, causally, to themselves: [B, K, C, H, D].

    The prompt's keys and the completion's own keys are two blocks with an attention each. Their
    outputs are weighted by the sums of their exponentials, so all K completions meet the prompt's
    keys in one matrix product, and no completion attends to another. The backward pass gives each
    block the total output and the total sum, so its gradients are those of the whole attention. The
    forward pass is Hydragen's (arXiv 2402.05099), the backward pass that of ring attention (arXiv
    2310.01889).
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,  # [B, K, C, H, D]
        key: Tensor,  # [B, K, C, H/G, D]
        value: Tensor,
        prompt_key: Tensor,  # [B, P, H/G, D]
        prompt_value: Tensor,
        outside: Tensor | None,  # [B, P]
        scaling: float,
    ) -> Tensor:
        blocks = _Blocks(query, key, value, prompt_key, prompt_value, outside)
        far, far_sum = _flash(*blocks.far, attn_mask=blocks.mask, scale=scaling)
        near, near_sum = _flash(*blocks.near, is_causal=True, scale=scaling)
        far, far_sum = blocks.as_near(far), blocks.as_near(far_sum.unsqueeze(-1)).squeeze(-1)
        total = torch.logaddexp(far_sum, near_sum)
        out = far * (far_sum - total).exp().unsqueeze(-1).to(far.dtype)
        out += near * (near_sum - total).exp().unsqueeze(-1).to(near.dtype)
        ctx.save_for_backward(query, key, value, prompt_key, prompt_value, outside, out, total)
        ctx.scaling = scaling
        return blocks.answer(out)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *given, out, total = ctx.saved_tensors
        blocks = _Blocks(*given)
        grad = blocks.rows(grad)
        far = _flash_backward(
            blocks.as_far(grad),
            *blocks.far,
            blocks.as_far(out),
            blocks.as_far(total.unsqueeze(-1)).squeeze(-1),
            0.0,
            False,
            attn_mask=blocks.mask,
            scale=ctx.scaling,
        )
        near = _flash_backward(grad, *blocks.near, out, total, 0.0, True, scale=ctx.scaling)
        dquery = blocks.answer(blocks.as_near(far[0]) + near[0])
        dkey, dvalue = (blocks.answer(blocks.over_groups(x)) for x in near[1:])
        dprompt = (x.transpose(1, 2) for x in far[1:])
        return dquery, dkey, dvalue, *dprompt, None, None


class _Blocks:
    """The inputs [batch, heads, tokens, D] of the two attentions, and conversions between layouts.

    ``far``: [B, H/G, G*K*C, D] queries on [B, H/G, P, D] keys. ``near``: [B*K, H, C, D].
    """

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        prompt_key: Tensor,
        prompt_value: Tensor,
        outside: Tensor | None,
    ):
        self.b, self.k, self.c, heads, self.d = query.shape
        self.kv = key.shape[3]
        self.g = heads // self.kv
        near = self.rows(query)
        self.near = (near, self._repeated(key), self._repeated(value))
        self.far = (self.as_far(near), prompt_key.transpose(1, 2), prompt_value.transpose(1, 2))
        self.mask = None if outside is None else outside[:, None, None, :]

    def rows(self, x: Tensor) -> Tensor:
        """[B, K, C, heads, D] as [B*K, heads, C, D]."""
        return x.flatten(0, 1).transpose(1, 2)

    def answer(self, x: Tensor) -> Tensor:
        """[B*K, heads, C, D] as [B, K, C, heads, D]."""
        return x.transpose(1, 2).unflatten(0, (self.b, self.k))

    def as_far(self, x: Tensor) -> Tensor:
        """[B*K, H, C, .] as [B, H/G, G*K*C, .]."""
        x = x.reshape(self.b, self.k, self.kv, self.g, self.c, -1).permute(0, 2, 3, 1, 4, 5)
        return x.reshape(self.b, self.kv, self.g * self.k * self.c, -1)

    def as_near(self, x: Tensor) -> Tensor:
        """[B, H/G, G*K*C, .] as [B*K, H, C, .]."""
        x = x.reshape(self.b, self.kv, self.g, self.k, self.c, -1).permute(0, 3, 1, 2, 4, 5)
        return x.reshape(self.b * self.k, self.kv * self.g, self.c, -1)

    def _repeated(self, x: Tensor) -> Tensor:
        """[B, K, C, H/G, D] as [B*K, H, C, D], each head G times."""
        return self.rows(x).repeat_interleave(self.g, dim=1)

    def over_groups(self, x: Tensor) -> Tensor:
        """The sum over each head's G copies: [B*K, H, C, D] as [B*K, H/G, C, D]."""
        return x.unflatten(1, (self.kv, self.g)).sum(2)
