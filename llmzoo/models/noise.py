"""Keys of the sampling noise."""

from __future__ import annotations

from hashlib import blake2b


def noise_key(seed: int, what: str, number: int) -> int:
    """A 63-bit hash of a seed, a purpose and a number."""
    digest = blake2b(f"{seed}/{what}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
