"""The text of what was raised, for a reader: never fails, never long, always a plain string."""

from __future__ import annotations

MAX_TEXT = 2_000


def safe_text(error: BaseException) -> str:
    """What an exception says, whatever its ``__str__`` is made of."""
    try:
        text = str(error)
        return str.__str__(text)[:MAX_TEXT]
    except BaseException:
        return ""


def in_words(error: BaseException) -> str:
    """Name of the type and text, as the last line of a traceback has them."""
    name = str.__str__(type(error).__name__)
    text = safe_text(error)
    return f"{name}: {text}" if text else name
