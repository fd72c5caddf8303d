"""Text that agents write, shared by several families: how it is refused, and changed before it is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence


class MalformedError(ValueError):
    """An answer that cannot be read; its text tells the agent why."""


def truncate(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and its length."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def count_to_omit(texts: Sequence[str], limit: int) -> int:
    """How many of the first texts to leave out, so that the rest has at most ``limit`` characters."""
    for number in range(len(texts) - 1, -1, -1):
        limit -= len(texts[number])
        if limit < 0:
            return number + 1
    return 0


def replace_surrogates(text: str) -> str:
    """``text`` in a form that can be encoded: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


_LABEL = re.compile(
    r"(?:\*\*|__)?(?:the |my )?(?:final )?(?:answer|message|puzzle)(?: is)?[ \t]*"
    r"(?:\*\*|__)?[ \t]*:?[ \t]*(?:\*\*|__)?[ \t]+",
    re.IGNORECASE,
)
_FENCE_OR_RULE = re.compile(r"(?:```[\w+-]*|~~~|-{3,}|\*{3,}|_{3,}|\|[-:| \t]*\|)?")
_PAIRS = ("**", "__", "`", '"', "'", "$")


def content_lines(text: str) -> list[str]:
    """The lines of an answer that say something, each without the Markdown, the quotes and the label (as
    ``Answer:``) around it. Fences and rules are left out."""
    return [
        strip_markup(line)
        for line in text.splitlines()
        if not _FENCE_OR_RULE.fullmatch(line.strip())
    ]


def strip_markup(line: str) -> str:
    """A line without the Markdown, the quotes and the label around all of it."""
    line = line.strip()
    if len(line) > 1 and line[0] == line[-1] == "|" and line.count("|") == 2:  # a row of a table
        line = line[1:-1].strip()
    label = _LABEL.match(line)
    line = line[label.end() :].strip() if label else line
    for mark in _PAIRS:
        inner = line[len(mark) : -len(mark)]
        if inner.strip() and line == f"{mark}{inner}{mark}" and mark not in inner:
            line = inner.strip()
    return line
