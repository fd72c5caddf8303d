"""The whole way of a check: find, clean, read, compare, and ask where that does not decide."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from llmzoo.envs.math.answers import shapes
from llmzoo.envs.math.answers.amounts import Ask, is_number
from llmzoo.envs.math.answers.arithmetic import Beyond, TooLarge
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

_REMEMBERED = 500  # characters of an answer whose verdict is kept
_INTEGER = re.compile(r"[-+]?\d{1,40}")
_DECIMAL = re.compile(r"-?\d+[.,]\d+")
_CHOICE = re.compile(r"\(?[A-Z]\)?")
_MARKED = re.compile(r"\(?[A-Z][).:] ")
_OPTION = re.compile(r"\s*\(?[A-E]\)[.:]?\s+(\S.*)")  # a choice with what it says
_SAID = re.compile(r"(?!(?:correct|right|enough|left)$)[A-Za-z]+")
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
        return _says_something(ours)
    if not _says_something(theirs):
        return False
    try:
        if _CHOICE.fullmatch(ours) and _MARKED.match(theirs):
            return _in_prose(ours, theirs, given, ask)
        return _same(ours, theirs, ask) or _in_prose(ours, theirs, given, ask)
    except (Beyond, TooLarge, RecursionError):
        return False


def _says_something(text: str) -> bool:
    return any(sign.isalnum() or sign == "∞" for sign in text)


def _same(gold: str, given: str, ask: Ask) -> bool:
    """Whether two clean texts are one answer. Raises ``TooLarge``."""
    if _DECIMAL.fullmatch(gold) and _DECIMAL.fullmatch(given) and ("," in gold) != ("," in given):
        # a comma as in most of Europe, where a decimal of the same digits is asked for
        ours, theirs = (Fraction(text.replace(",", ".")) for text in (gold, given))
        return ours == theirs and ours.denominator > 1
    try:
        return same_shape(shapes.read(gold), shapes.read(given), ask)
    except shapes.NoShape:
        return False


def _in_prose(gold: str, read: str, given: str, ask: Ask) -> bool:
    """Whether a text in prose gives the answer, the number, or the letter of a choice; ``read`` is
    the clean text."""
    if _CHOICE.fullmatch(gold):
        letter = gold.strip("()")
        if read.strip(" ()[]{}.?").upper() == letter:
            return True
        return {letter_in(given), letter_in(read)} - {None} == {letter}
    if not is_prose(given) or _is_number(read):
        return False
    stated = stated_in(given)
    found = number_in(given) if _PLAIN.fullmatch(gold) and not _says_else(given, stated) else None
    return any(_same(gold, clean(text), ask) for text in (stated, found) if text)


def _says_else(given: str, stated: str | None) -> bool:
    """Whether a text gives a letter, or says one word of a number: ``5 hence (B)``, ``5 is even``."""
    return letter_in(given) is not None or bool(stated and _SAID.fullmatch(stated))


def _is_number(text: str) -> bool:
    try:
        return is_number(shapes.read(text))
    except shapes.NoShape:
        return False
