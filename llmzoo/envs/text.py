"""What several families do to text before they show it."""

from __future__ import annotations


def cut(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and how many there were."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def encodable(text: str) -> str:
    """``text`` that can be encoded: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
