"""Segments of a flat row of tokens, and the same tokens as a padded grid."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def packs(sizes: Sequence[int], most: int) -> list[range]:
    """Consecutive items, by their sizes in tokens, as packs of at most ``most`` tokens.

    A larger item is a pack of its own.
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
    """S pieces that make up a flat axis of T tokens, piece s of ``lengths[s]``.

    ``width``: the longest. ``even``: all are that long, so that a grid is the flat axis seen
    otherwise and nothing is copied.
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
        # padding reads the first token: it means nothing, and must not be looked at
        self._source = torch.where(real, begins.unsqueeze(1) + columns, 0).flatten().to(device)
        self._place = real.flatten().nonzero().squeeze(1).to(device)

    def grid(self, flat: Tensor) -> Tensor:
        """[T, ...] as [S, width, ...]."""
        shape = (len(self.lengths), self.width, *flat.shape[1:])
        if self.even:
            return flat.view(shape)
        return flat.index_select(0, self._source).view(shape)

    def flat(self, grid: Tensor) -> Tensor:
        """[S, width, ...] as [T, ...]."""
        flat = grid.flatten(0, 1)
        return flat if self.even else flat.index_select(0, self._place)

    @property
    def columns(self) -> Tensor:
        """Of each token its place in its piece [T]."""
        every = torch.arange(self.width, device=self.real.device).expand(self.real.shape)
        return self.flat(every)

    @property
    def slots(self) -> Tensor:
        """Of each token its place in the flattened grid [T]."""
        return self._place

    def outside(self, dtype: torch.dtype) -> Tensor | None:
        """What is added to attention scores [S, width]: -inf at padding; None if there is none."""
        if self.even:
            return None
        none = torch.zeros(self.real.shape, dtype=dtype, device=self.real.device)
        return none.masked_fill(~self.real, float("-inf"))
