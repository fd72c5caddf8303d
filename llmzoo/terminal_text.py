"""Text from elsewhere, made safe for a terminal or a page."""

from __future__ import annotations


def escape_unprintable(text: str) -> str:
    """A text for a terminal or a page: what would move a cursor, change colours or hide is escaped."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text
    )
