r"""Where an answer stands in a text: in ``\boxed{...}``."""

from __future__ import annotations

import re

_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])\s{0,20}")
_WORD = re.compile(r"[^\s$]+")
_STEP = re.compile(r"\\.|[{}]", re.DOTALL)
_SEPARATOR = re.compile(r"[,;&]|\b(?:and|or)\b")
_CORRECTED = re.compile(r"correct|wrong|mistake|wait|actually|rather|instead", re.IGNORECASE)
_CLOSE = 10  # boxes with so few characters between them belong together
_NEAR = 70  # so do those in a list
_PERCENT = re.compile(r"[\s$)\\]{0,4}(?:%|percent|pct)")


def boxed(text: str) -> str | None:
    r"""What the last ``\boxed{...}`` or ``\fbox{...}`` of ``text`` holds, its braces balanced.

    ``\boxed 5`` holds the word after it. ``None`` where there is no box, or where the last one is
    never closed. Time is linear in the length of the text.
    """
    starts = [found.end() for found in _BOX.finditer(text)]
    content = _content(text, starts[-1]) if starts else None
    return None if content is None else content[0]


def last_boxes(text: str) -> str | None:
    r"""What the last box holds, joined by ``;`` with those of the same enumeration before it.

    A box that is never closed holds the rest of its line. ``None`` where there is none.
    """
    starts = list(_BOX.finditer(text))[-20:]
    if not starts:
        return None
    last = _content(text, starts[-1].end())
    if last is None:
        rest = text[starts[-1].end() :].lstrip("{").split("\n", 1)[0]
        return rest.rstrip().rstrip("$").strip()
    answers = [last[0]]
    if _PERCENT.match(text, last[1]):
        answers[0] += "%"
    following = starts[-1].start()
    for start in reversed(starts[:-1]):
        content = _content(text, start.end(), following)
        if content is None:
            break
        between = text[content[1] : following]
        if _CORRECTED.search(between):
            break
        if len(between) >= _CLOSE and not (len(between) < _NEAR and _SEPARATOR.search(between)):
            break
        if content[0] not in answers:
            answers.append(content[0])
        following = start.start()
    return " ; ".join(reversed(answers))


def _content(text: str, start: int, end: int | None = None) -> tuple[str, int] | None:
    """What a box holds whose command ends at ``start``, and where it is closed."""
    if text[start : start + 1] != "{":
        word = _WORD.match(text, start)
        return None if word is None else (word[0], word.end())
    depth = 0
    for step in _STEP.finditer(text, start, len(text) if end is None else end):
        if step[0] == "{":
            depth += 1
        elif step[0] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1 : step.start()].strip(), step.end()
    return None
