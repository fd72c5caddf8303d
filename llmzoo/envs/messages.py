"""Messages from one agent to another: how they are read, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome
from llmzoo.envs.text import replace_surrogates, truncate

MESSAGE_CHARS, MAX_MESSAGE_CHARS = 400, 2_000  # the default and the largest limit of a message
UNDELIVERED_PENALTY = -0.05  # for a message that cannot be delivered
NOT_DELIVERED = "(not delivered)"  # what is shown in its place


def check_message_limit(chars: int) -> int:
    """``chars``; raises :class:`llmzoo.errors.ConfigError` if a message of so many characters is not allowed."""
    check_range("message_chars", chars, 1, MAX_MESSAGE_CHARS)
    return chars


def parse_message(text: str, limit: int) -> tuple[str, str]:
    """The message, and why it is not delivered: it is empty or too long. One of the two is ""."""
    message = text.strip()
    if not message:
        return "", "an empty message"
    if len(message) > limit:
        return "", f"a message of {len(message)} characters, {limit} are allowed"
    return message, ""


def received_messages(rounds: Iterable[Mapping[str, str]], agent: str) -> list[str]:
    """The messages of the other agents. ``rounds``: the messages of each round by sender."""
    return [text for sent in rounds for sender, text in sent.items() if sender != agent]


def penalize_undelivered(reasons: Mapping[str, str]) -> Outcome:
    """What messages are paid. ``reasons``: by sender, why a message was not delivered; "": it was."""
    failed = {sender: reason for sender, reason in reasons.items() if reason}
    return Outcome(
        local={sender: {"message": UNDELIVERED_PENALTY} for sender in failed},
        errors={sender: f"malformed: {reason}" for sender, reason in failed.items()},
    )


def quote_message(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """The first ``limit`` characters of another agent's text, with ``> `` before each line.

    No line of the environment's own begins like that, so a message cannot pass for one.
    """
    lines = replace_surrogates(truncate(text, limit)).splitlines()
    return "\n".join(f"> {line}" for line in lines or [""])
