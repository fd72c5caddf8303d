"""Chance that belongs to a request: what it draws does not depend on what is asked beside it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import torch
from torch import Tensor

from llmzoo.policies.base import Request

_BLOCK = 64  # tokens whose numbers are drawn at once


class Chance:
    """A key for each request, made of a seed and the request's own noise.

    A request without noise of its own is given the number of its turn.
    """

    def __init__(self, seed: int):
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self.seed, self._asked = seed, 0

    def keys(self, requests: Sequence[Request]) -> list[int]:
        return [self._key(request) for request in requests]

    def _key(self, request: Request) -> int:
        if request.noise is not None:
            return _mixed(self.seed, "named", request.noise)
        self._asked += 1
        return _mixed(self.seed, "turn", self._asked)


class Uniforms:
    """Numbers in [0, 1), one for each row and token: K rows a key.

    They are made on the CPU, so that a seed means the same on every device.
    """

    def __init__(self, keys: Sequence[int], k: int, device: torch.device):
        self._keys, self._k, self._device = keys, k, device
        self._generator = torch.Generator()
        self._block, self._numbers = -1, torch.empty(0)

    def at(self, step: int) -> Tensor:
        """Those of all rows' tokens at ``step``: float64 [keys * K]."""
        block, column = divmod(step, _BLOCK)
        if block != self._block:
            self._block = block
            numbers = torch.empty(len(self._keys), self._k, _BLOCK, dtype=torch.float64)
            for row, key in zip(numbers, self._keys, strict=True):
                self._generator.manual_seed(_mixed(key, "block", block))
                row.uniform_(generator=self._generator)
            self._numbers = numbers.flatten(0, 1).T.contiguous().to(self._device)
        return self._numbers[column]


def _mixed(seed: int, what: str, number: int) -> int:
    """63 bits that any other seed or number would have changed."""
    digest = blake2b(f"{seed}/{what}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
