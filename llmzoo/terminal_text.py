"""Text from elsewhere, made safe for a terminal or a page."""

from __future__ import annotations


def escape_unprintable(text: str) -> str:
    """The text with unprintable characters escaped: those that move a cursor, change colours or hide text."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )
