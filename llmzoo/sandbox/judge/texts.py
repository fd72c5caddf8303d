"""The text of an exception as a short plain string. Nothing here fails."""

from __future__ import annotations

MAX_TEXT = 2_000


def safe_text(error: BaseException) -> str:
    """The message of an exception, or "" if its ``__str__`` fails."""
    try:
        text = str(error)
        return str.__str__(text)[:MAX_TEXT]
    except BaseException:
        return ""


def describe_error(error: BaseException) -> str:
    """The type's name and the message, as in the last line of a traceback."""
    name = str.__str__(type(error).__name__)
    text = safe_text(error)
    return f"{name}: {text}" if text else name
