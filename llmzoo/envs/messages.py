"""Messages from one seat to another: how they are read, and how they are shown."""

from __future__ import annotations

from llmzoo.envs.settings import in_range
from llmzoo.envs.text import Malformed, cut, encodable

MESSAGE_CHARS, MAX_MESSAGE_CHARS = 400, 2_000  # the default and the largest limit of a message
NO_MESSAGE = -0.05  # for a message that cannot be delivered
NOT_DELIVERED = "(not delivered)"  # what is shown in its place


def message_limit(chars: int) -> int:
    """``chars``; raises :class:`ConfigError` if a message of so many characters is not allowed."""
    in_range("message_chars", chars, 1, MAX_MESSAGE_CHARS)
    return chars


def read_message(text: str, limit: int) -> str:
    """The message that is delivered; raises :class:`Malformed` for an empty one and one that is too long."""
    message = text.strip()
    if not message:
        raise Malformed("an empty message")
    if len(message) > limit:
        raise Malformed(f"a message of {len(message)} characters, {limit} are allowed")
    return message


def quoted(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """The first ``limit`` characters of another seat's text, with ``> `` before each line.

    No line of the environment's own begins like that, so a message cannot pass for one.
    """
    lines = encodable(cut(text, limit)).splitlines()
    return "\n".join(f"> {line}" for line in lines or [""])
