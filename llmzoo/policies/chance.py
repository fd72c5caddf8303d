"""A key for each request's sampling noise; the numbers that a key draws are :mod:`.noise`'s."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from llmzoo.policies.base import Request


class Chance:
    """A key for each request, made of a seed and the request's own noise.

    A request without noise of its own is given the number of its turn; one that brings its key
    keeps it.
    """

    def __init__(self, seed: int):
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self.seed, self._asked = seed, 0

    def keys(self, requests: Sequence[Request]) -> list[int]:
        return [self._key(request) for request in requests]

    def _key(self, request: Request) -> int:
        if request.key is not None:
            return request.key
        if request.noise is not None:
            return mixed(self.seed, "named", request.noise)
        self._asked += 1
        return mixed(self.seed, "turn", self._asked)


def mixed(seed: int, what: str, number: int) -> int:
    """63 bits that any other seed or number would have changed."""
    digest = blake2b(f"{seed}/{what}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
