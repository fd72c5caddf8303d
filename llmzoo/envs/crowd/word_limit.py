"""Messages to a group: each is shown on one line, and only its first words are heard."""

from __future__ import annotations

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.text import replace_surrogates

CHARS_PER_WORD = 12  # a message of n words has at most 12 n characters


def limit_words(text: str, words: int) -> tuple[str, str]:
    """The part of a message that is heard, and what was wrong with the message ("": nothing).

    The first ``words`` words are heard, with single spaces between them, and at most 12 characters for each
    word. Nothing is heard of a message that is empty or longer than ``MAX_ACTION_CHARS``.
    """
    if len(text) > MAX_ACTION_CHARS:
        return "", f"malformed: longer than {MAX_ACTION_CHARS} characters"
    found = replace_surrogates(text).split()
    if not found:
        return "", "malformed: an empty message"
    heard = " ".join(found[:words])
    if len(found) > words:
        error = f"cut: a message of {len(found)} words, of which the first {words} are heard"
    elif len(heard) > CHARS_PER_WORD * words:
        error = f"cut: only the first {CHARS_PER_WORD * words} characters are heard"
    else:
        error = ""
    return heard[: CHARS_PER_WORD * words], error
