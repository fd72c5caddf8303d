"""Text that agents write, shared by several families: how it is refused, and changed before it is shown."""

from __future__ import annotations


class Malformed(ValueError):
    """An answer that cannot be read; its text tells the agent why."""


def cut(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and its length."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def encodable(text: str) -> str:
    """``text`` in a form that can be encoded: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
