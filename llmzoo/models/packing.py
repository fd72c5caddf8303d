"""Groups packed into one flat row without padding: every prompt once, then all completions.

Prompts that begin alike, as those of one agent do, share the tokens of their beginning: a token that
follows the same tokens has the same states, so it is computed once for all of them. In a conversation
the next prompt continues a completion, which is then read as a part of that prompt.

Shapes: B prompts of P tokens at most, N completions of C tokens at most, K completions of a prompt
at most, T tokens in all; H query heads, G of them for each of the H/G key-value heads, D the size
of a head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.models.trie import Trie

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def split_into_packs(sizes: Sequence[int], most: int) -> list[range]:
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
    are equal. The grid is then a view of the flat axis, and nothing is copied.

    ``columns`` [T]: the index of each token in its piece. ``slots`` [T]: its index in the flattened
    grid. ``source`` [S * width]: the token in each cell of that grid. ``ends`` [S]: each piece's last
    token.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device):
        self._set_lengths(lengths, device)
        sizes = torch.tensor(self.lengths, dtype=torch.long)
        self.total = sum(lengths)
        self._grid_is_view = self.even
        self.columns = _column_indices(lengths).to(device)
        begins = sizes.cumsum(0) - sizes
        # padding repeats the first token; its values are arbitrary and must not be used
        cells = torch.where(self._real, begins.unsqueeze(1) + torch.arange(self.width), 0)
        self.source = cells.flatten().to(device)
        self.slots = self._real.flatten().nonzero().squeeze(1).to(device)
        self.ends = (sizes.cumsum(0) - 1).to(device)

    def _set_lengths(self, lengths: Sequence[int], device: torch.device) -> None:
        self.lengths = tuple(lengths)
        self.width = max(lengths, default=0)
        self.even = len(set(lengths)) < 2
        # on the host, which knows all lengths: the device need not tell it how many cells are real
        sizes = torch.tensor(self.lengths, dtype=torch.long)
        self._real = torch.arange(self.width) < sizes.unsqueeze(1)  # [S, width]
        self.real = self._real.to(device)

    def grid(self, flat: Tensor) -> Tensor:
        """[T, ...] as [S, width, ...]."""
        shape = (len(self.lengths), self.width, *flat.shape[1:])
        if self._grid_is_view:
            return flat.view(shape)
        return flat.index_select(0, self.source).view(shape)

    def flat(self, grid: Tensor) -> Tensor:
        """[S, width, ...] as [T, ...]."""
        flat = grid.flatten(0, 1)
        return flat if self._grid_is_view else flat.index_select(0, self.slots)

    def padding_mask(self, dtype: torch.dtype) -> Tensor | None:
        """The mask [S, width] to add to attention scores: -inf at padding. None without padding."""
        if self.even:
            return None
        none = torch.zeros(self.real.shape, dtype=dtype, device=self.real.device)
        return none.masked_fill(~self.real, float("-inf"))


class SharedSegments(Segments):
    """Texts that share the tokens of beginnings they have in common: the T nodes of a trie.

    ``paths``: the nodes of each text; together they are all nodes. ``ids`` [T]: the tokens. In the
    grid every text is whole. ``flat`` takes a shared token from the first text that has it.
    """

    def __init__(self, trie: Trie, paths: Sequence[Sequence[int]], device: torch.device):
        self._set_lengths([len(path) for path in paths], device)
        self.total = len(trie)
        source: list[int] = []
        slots = [-1] * self.total
        for number, path in enumerate(paths):
            for slot, node in enumerate(path, number * self.width):
                if slots[node] < 0:
                    slots[node] = slot
            source += path
            source += [0] * (self.width - len(path))
        self._grid_is_view = source == list(range(self.total))
        self.ids, self.columns, self.slots, self.source, self.ends = (
            torch.tensor(numbers, dtype=torch.long).to(device)
            for numbers in (trie.ids, trie.depths, slots, source, [path[-1] for path in paths])
        )


class PackedTexts:
    """B texts of at most P tokens. Each attends causally to itself.

    ``ids`` and ``positions`` [T]: the model's input. ``ends`` [B]: the index of each text's last
    token.
    """

    def __init__(self, texts: Sequence[Sequence[int]], device: torch.device):
        trie = Trie()
        self.segments = SharedSegments(trie, [trie.add(text) for text in texts], device)
        self.ids, self.positions = self.segments.ids, self.segments.columns
        self.ends = self.segments.ends

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        query, key, value = (self.segments.grid(x[0].transpose(0, 1)) for x in (query, key, value))
        return self.segments.flat(self._attend(layer, query, key, value, scaling)).unsqueeze(0)

    def _attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        """Outputs [B, P, H, D] for the texts as a padded grid."""
        return _causal_attention(query, key, value, scaling)


class PackedGroups:
    """Prompts, and completions that attend to their own prompt and to themselves.

    ``ids`` and ``positions`` [T]: the model's input. A completion's last token predicts nothing, so
    it is left out. ``predicts`` [sum of lengths]: for each completion token, in order, the index in
    the row from which it is predicted. ``levels``: the completions by their length, see
    :func:`group_by_length`, so that a long one does not pad all others.

    A completion that another prompt continues, as in a conversation, is read there: the turns of
    one conversation are one text, with a completion in several places of it.
    """

    def __init__(
        self,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[Sequence[int]]],
        device: torch.device,
    ):
        trie = Trie()
        paths = [trie.add(prompt) for prompt in prompts]
        inner = set(trie.parents)
        # the nodes of the prompts that are read as texts; any other prompt is the beginning of one of them
        kept: list[list[int]] = []
        read: list[Sequence[int]] = []  # the completions that no prompt continues
        owners: list[int] = []  # for each of ``read``, the index of its prompt in ``kept``
        # for each completion, the last node of its prompt, and its own nodes or its index in ``read``
        places: list[tuple[int, Sequence[int] | int]] = []
        leaves: set[int] = set()
        for path, group in zip(paths, completions, strict=True):
            end, before = path[-1], len(read)
            for ids in group:
                within = trie.find(ids[:-1], end)
                places.append((end, len(read) if within is None else within))
                if within is None:
                    read.append(ids[:-1])
            if len(read) > before or (end not in inner and end not in leaves):
                owners += [len(kept)] * (len(read) - before)
                kept.append(path)
                leaves.add(end)
        self.prompts = SharedSegments(trie, kept, device)
        self.levels: list[_LengthLevel] = []
        ids, positions = [*trie.ids], [*trie.depths]
        begins = [0] * len(read)
        for numbers in group_by_length([len(completion) for completion in read]):
            for number in numbers:
                begins[number] = len(ids)
                after = len(kept[owners[number]])
                positions += range(after, after + len(read[number]))
                ids += read[number]
            lengths, its_owners = [len(read[n]) for n in numbers], [owners[n] for n in numbers]
            self.levels.append(_LengthLevel(lengths, its_owners, len(kept), device))
        predicts: list[int] = []
        for end, place in places:
            if isinstance(place, int):
                place = range(begins[place], begins[place] + len(read[place]))
            predicts += [end, *place]
        self.ids = torch.tensor(ids).to(device)
        self.positions = torch.tensor(positions).to(device)
        self.predicts = torch.tensor(predicts).to(device)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float
    ) -> Tensor:
        sizes = [self.prompts.total, *(level.completions.total for level in self.levels)]
        # pieces of [T, heads, D]; a split joins its gradients once, slices would add them
        pieces = zip(*(x[0].transpose(0, 1).split(sizes) for x in (query, key, value)), strict=True)
        prompt = [self.prompts.grid(x) for x in next(pieces)]  # [B, P, heads, D]
        parts = [self.prompts.flat(_causal_attention(prompt[0], prompt[1], prompt[2], scaling))]
        prompt_mask = self.prompts.padding_mask(query.dtype)
        for level, own in zip(self.levels, pieces, strict=True):
            parts.append(level.attend(own, prompt[1:], prompt_mask, scaling))
        return torch.cat(parts).unsqueeze(0)


def group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """The numbers of these texts in levels: none is shorter than half of the longest in its level."""
    levels: list[list[int]] = []
    longest = 0
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        if not levels or 2 * lengths[number] < longest:
            levels.append([])
            longest = lengths[number]
        levels[-1].append(number)
    return [sorted(level) for level in levels]


class _LengthLevel:
    """Completions of similar lengths, in the order of their prompts.

    ``lengths`` and ``owners``: the number of tokens of each completion, and the index of its prompt.
    ``prompts``: the number of prompts. ``rows``: the indices of the prompts that have completions here;
    None: all of them, in order.
    """

    def __init__(
        self, lengths: Sequence[int], owners: Sequence[int], prompts: int, device: torch.device
    ):
        counts_by_prompt = Counter(owners)
        self.completions = Segments(lengths, device)
        self.groups = Segments([*counts_by_prompt.values()], device)
        self.rows = (
            None
            if len(counts_by_prompt) == prompts
            else torch.tensor([*counts_by_prompt]).to(device)
        )

    def attend(
        self,
        own: Sequence[Tensor],
        prompt: Sequence[Tensor],
        prompt_mask: Tensor | None,
        scaling: float,
    ) -> Tensor:
        """Outputs [tokens, H, D]. ``own``: queries, keys and values of the completions; ``prompt``: keys
        and values [B, P, H/G, D] of all prompts, and ``prompt_mask`` [B, P] their padding mask."""
        if self.rows is not None:
            prompt = [x.index_select(0, self.rows) for x in prompt]
            prompt_mask = None if prompt_mask is None else prompt_mask.index_select(0, self.rows)
        grids = (self.groups.grid(self.completions.grid(x)) for x in own)
        out = _SharedPrompt.apply(*grids, *prompt, prompt_mask, scaling)
        return self.completions.flat(self.groups.flat(out))


def pack_groups(
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[Sequence[int]]],
    device: torch.device,
) -> PackedGroups:
    """The layout that reads these groups fastest.

    Rows of a prompt and one completion whose prompts begin alike for the most part, as demonstrations
    do, are read as completions of that beginning: then each prompt's queries meet the keys of the
    beginning in one matrix product with those of all others, and their keys are not copied for each of
    them. ``predicts`` leaves out what belongs to prompts.
    """
    groups = (
        group_by_shared_prefix(prompts) if all(len(group) == 1 for group in completions) else []
    )
    shared = sum(length * len(rows) for length, rows in groups)
    if 2 * shared <= sum(map(len, prompts)):
        return PackedGroups(prompts, completions, device)
    row = PackedGroups(
        [prompts[rows[0]][:length] for length, rows in groups],
        [[[*prompts[r][length:], *completions[r][0]] for r in rows] for length, rows in groups],
        device,
    )
    predictions: dict[int, range] = {}  # of each completion
    before = 0
    for length, rows in groups:
        for r in rows:
            start = before + len(prompts[r]) - length
            before = start + len(completions[r][0])
            predictions[r] = range(start, before)
    order = [at for r in range(len(prompts)) for at in predictions[r]]
    row.predicts = row.predicts[torch.tensor(order, device=device)]
    return row


def group_by_shared_prefix(prompts: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """Groups of prompts that share at least half of their tokens: how many, and the prompts' places.

    Empty if a prompt continues another one, as in a conversation: their tokens are shared further.
    """
    order = sorted(range(len(prompts)), key=lambda r: tuple(prompts[r]))
    groups: list[tuple[int, list[int]]] = []
    for previous, r in zip([-1, *order], order, strict=False):
        prompt = prompts[r]
        alike = 0
        if groups:
            pairs = enumerate(zip(prompts[previous], prompt, strict=False))
            shortest = min(len(prompts[previous]), len(prompt))
            alike = next((n for n, (one, other) in pairs if one != other), shortest)
            if alike == len(prompts[previous]) < len(prompt):
                return []
        length = min(alike, groups[-1][0]) if groups else 0
        if 2 * length >= len(prompt):
            groups[-1] = (length, [*groups[-1][1], r])
        else:
            groups.append((len(prompt), [r]))
    return groups


def _column_indices(lengths: Sequence[int]) -> Tensor:
    """The index of each token in its piece, on the host: 0, 1, ... up to each of the lengths."""
    sizes = torch.tensor(lengths, dtype=torch.long)
    begins = sizes.cumsum(0) - sizes
    return torch.arange(sum(lengths)) - begins.repeat_interleave(sizes)


def _causal_attention(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
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
        prompt_mask: Tensor | None,  # [B, P]
        scaling: float,
    ) -> Tensor:
        blocks = _Blocks(query, key, value, prompt_key, prompt_value, prompt_mask)
        far, far_sum = _flash(*blocks.far, attn_mask=blocks.mask, scale=scaling)
        near, near_sum = _flash(*blocks.near, is_causal=True, scale=scaling)
        far, far_sum = blocks.as_near(far), blocks.as_near(far_sum.unsqueeze(-1)).squeeze(-1)
        total = torch.logaddexp(far_sum, near_sum)
        out = far * (far_sum - total).exp().unsqueeze(-1).to(far.dtype)
        out += near * (near_sum - total).exp().unsqueeze(-1).to(near.dtype)
        ctx.save_for_backward(query, key, value, prompt_key, prompt_value, prompt_mask, out, total)
        ctx.scaling = scaling
        return blocks.completion(out)

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
        dquery = blocks.completion(blocks.as_near(far[0]) + near[0])
        dkey, dvalue = (blocks.completion(blocks.sum_over_groups(x)) for x in near[1:])
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
        prompt_mask: Tensor | None,
    ):
        self.b, self.k, self.c, heads, self.d = query.shape
        self.kv = key.shape[3]
        self.g = heads // self.kv
        near = self.rows(query)
        self.near = (near, self._repeat_heads(key), self._repeat_heads(value))
        self.far = (self.as_far(near), prompt_key.transpose(1, 2), prompt_value.transpose(1, 2))
        self.mask = None if prompt_mask is None else prompt_mask[:, None, None, :]

    def rows(self, x: Tensor) -> Tensor:
        """[B, K, C, heads, D] as [B*K, heads, C, D]."""
        return x.flatten(0, 1).transpose(1, 2)

    def completion(self, x: Tensor) -> Tensor:
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

    def _repeat_heads(self, x: Tensor) -> Tensor:
        """[B, K, C, H/G, D] as [B*K, H, C, D], each head G times."""
        return self.rows(x).repeat_interleave(self.g, dim=1)

    def sum_over_groups(self, x: Tensor) -> Tensor:
        """The sum over each head's G copies: [B*K, H, C, D] as [B*K, H/G, C, D]."""
        return x.unflatten(1, (self.kv, self.g)).sum(2)
