"""The whole way of a check: find, clean, read, compare, and ask where that does not decide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from llmzoo.envs.math.answers import shapes
from llmzoo.envs.math.answers.amounts import Ask
from llmzoo.envs.math.answers.asking import ask
from llmzoo.envs.math.answers.cleaning import clean
from llmzoo.envs.math.answers.comparing import same_shape
from llmzoo.envs.math.answers.finding import (
    LONGEST,
    answer_in,
    is_prose,
    letter_in,
    number_in,
    stated_in,
)
from llmzoo.envs.math.answers.polynomials import Beyond, TooLarge

_REMEMBERED = 500  # characters of an answer whose verdict is kept
_INTEGER = re.compile(r"[-+]?\d{1,40}")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")
# three digits after a comma are thousands, but after a lone 0
_COMMA = re.compile(r"(-?0(?=,)|-?\d+(?=,(?!\d{3}$))),(\d+)")
_CHOICE = re.compile(r"\(?[A-Z]\)?")
_OPTION = re.compile(r"\s*\(?[A-E]\)[.:]?\s+(\S.*)")  # a choice with what it says
_PLAIN = re.compile(r"-?(?:[\d.,]+(?:/\d+)?|\\frac(?:\{\d+\}\{\d+\}|\d\d))")


def same(gold: str, given: str) -> bool:
    """Whether ``given`` is the answer ``gold``: an answer, or a text that gives one. Never raises.

    What the exact layer leaves open is asked of math-verify in a process of its own, within a time
    limit; without math-verify it counts as different.
    """
    if _INTEGER.fullmatch(gold) and _INTEGER.fullmatch(given):
        return int(gold) == int(given)
    if max(len(gold), len(given)) > _REMEMBERED:
        return decided(gold, given, ask)
    return _remembered(gold, given)


@lru_cache(maxsize=8192)
def _remembered(gold: str, given: str) -> bool:
    return decided(gold, given, ask)


def decided(gold: str, given: str, ask: Ask) -> bool:
    """The verdict of the exact layer, which ``ask`` completes."""
    ours, theirs = answer_in(gold), answer_in(given)
    if not ours or not theirs or max(len(ours), len(theirs)) > LONGEST:
        return False
    ours, given, theirs = clean(ours), theirs, clean(theirs)
    if not _CHOICE.fullmatch(ours) and (option := _OPTION.fullmatch(theirs)):
        theirs = option[1]
    if ours == theirs:
        return bool(ours)
    try:
        if any(same_shape(shapes.read(g), shapes.read(a), ask) for g, a in _readings(ours, theirs)):
            return True
        return _in_prose(ours, given, ask)
    except (Beyond, TooLarge, shapes.TooDeep, RecursionError):
        return False


def _readings(gold: str, given: str) -> Iterator[tuple[str, str]]:
    """Both answers with ``1,234`` as one number, and, where that occurs, as two."""
    joined = _GROUPS.sub(_join, gold), _GROUPS.sub(_join, given)
    yield joined
    if joined != (gold, given):
        yield gold, given
    if _PLAIN.fullmatch(gold) and (comma := _COMMA.fullmatch(given)):
        yield gold, f"{comma[1]}.{comma[2]}"  # as written in most of Europe


def _join(found: re.Match[str]) -> str:
    return found[0].replace(",", "").replace(" ", "")


def _in_prose(gold: str, given: str, ask: Ask) -> bool:
    """Whether a text in prose gives the answer, the number, or the letter of a choice."""
    if _CHOICE.fullmatch(gold):
        return letter_in(given) == gold.strip("()") or given.strip("()").upper() == gold.strip("()")
    if not is_prose(given):
        return False
    stated = stated_in(given)
    found = number_in(given) if _PLAIN.fullmatch(gold) else None
    return any(
        same_shape(shapes.read(g), shapes.read(a), ask)
        for text in (stated, found)
        if text
        for g, a in _readings(gold, clean(text))
    )
