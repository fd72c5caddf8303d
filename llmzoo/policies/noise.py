"""Chance that belongs to a request: what it draws does not depend on what is asked beside it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from llmzoo.policies.chance import mixed

_BLOCK = 64  # tokens whose numbers are drawn at once


class Uniforms:
    """Numbers in [0, 1), one for each row and token: K rows a key.

    They are made on the CPU, so that a seed means the same on every device.
    """

    def __init__(self, keys: Sequence[int], group_size: int, device: torch.device):
        self._keys, self._group_size, self._device = keys, group_size, device
        self._generator = torch.Generator()
        self._block, self._numbers = -1, torch.empty(0)

    def at(self, step: int) -> Tensor:
        """Those of all rows' tokens at ``step``: float64 [keys * K]."""
        block, column = divmod(step, _BLOCK)
        if block != self._block:
            self._block = block
            numbers = torch.empty(len(self._keys), self._group_size, _BLOCK, dtype=torch.float64)
            for row, key in zip(numbers, self._keys, strict=True):
                self._generator.manual_seed(mixed(key, "block", block))
                row.uniform_(generator=self._generator)
            self._numbers = numbers.flatten(0, 1).T.contiguous().to(self._device)
        return self._numbers[column]
