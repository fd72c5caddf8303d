r"""Whether two answers of mathematics are the same.

A check finds the answer in a text, spells it in one way, reads what kind of answer it is (numbers,
units, tuples, sets, intervals, inequalities, equations, matrices, lists) and compares. Expressions
are compared by their values at several points, in 130 digits. No text is evaluated as Python, no
equation is solved, and what cannot be read is different.

What counts as the same, beyond equality:

- ``x = 5``, ``f(x) = 5`` and ``5``; a chain of equations is its last side, and what is left of
  ``\approx`` is exact; but ``2x + z = 1`` is not ``1``.
- ``28\%``, ``28`` and ``0.28``, where one of the two has the percent sign.
- ``5 cm`` and ``5``, but not ``5 m``; no unit is converted. Other words after a number are ignored.
- ``1,234``, ``1 234`` and ``1234``, which is one number and no list, but ``1, 234`` are two, and so
  are ``(1,234)`` in brackets. ``2,74`` is ``2.74`` where the right answer is ``2.74``.
- A decimal of six places or more and the number that it cuts or rounds, unless that is a decimal too.
- ``1, 2``, ``2 and 1``, ``\{1, 2\}`` and ``x = 1 or x = 2``. Tuples keep their order, and
  intervals their brackets; ``(1, \infty)`` is ``x > 1``. ``[2, 3]``, as a program prints it, is also
  the list ``2, 3``.
- ``v_0^2`` and ``v^2_0``; ``(0, 4) \setminus \{1\}`` and ``(0, 1) \cup (1, 4)``.
- ``m + n = 5`` and ``5``, but not ``2x = 5``; ``2 + 3 = 5`` where all of its sides are equal.
- ``x \in [0, 1]`` and ``[0, 1]``, but not ``y \in [0, 1]``.
- ``3:30 PM`` and ``15:30``, and ``3:30`` where one of the two does not say the half of the day. Two
  digits after a colon are minutes, others a ratio: ``1:2`` is ``2:4`` and ``1/2``.
- ``5 million`` and ``5000000``. Words that change a number or take it back,
  as of ``5 sixths`` or ``5 or more``, are not ignored.
- The last answer of a longer text: its last box (with those that it enumerates), else its last
  formula, unless "answer is" follows it, else all that follows "answer is" or the last "is". Where
  a number is asked for, also the first number after "answer is", or the last number, if it is
  alone: no part of an expression, not one of several, not after "not" or "at least".
- ``[[1, 2], [3, 4]]`` and the matrix; a choice ``C) 12``, ``C`` and ``12``, but ``C`` where the right
  answer is a letter.

One answer has one reading. Several values are never one, even if all of them are equal, and texts
that say nothing, such as ``\{\}`` and ``,``, are no answer.

Different: ``\log 2`` and ``\ln 2``, ``8 \pmod{10}`` and ``8``, "no solution" and ``\emptyset``,
``\sqrt{x^2}`` and ``x``, ``[0, 1] \cup [1, 2]`` and ``[0, 2]``.

Answers of more than 1,000 characters are never right. Numbers of more than 120 digits and towers of
powers are equal only where they are spelled alike.

Arithmetic may be left to do: ``37 + 48`` and ``170/2`` are ``85``, and ``2^{10}`` is ``1024``. Work
that ``\sum``, ``\int``, ``\lim``, ``\max`` or ``\gcd`` leaves to the checker is no answer. This holds
on the public sets; the answers of generated tasks must be worked out and are read by
:mod:`llmzoo.envs.math.exact`, which takes no expression.
"""

from __future__ import annotations

import importlib.util
import re
from fractions import Fraction
from functools import lru_cache

from llmzoo.envs.math.answers.cleaning import clean
from llmzoo.envs.math.answers.comparing import is_number, same_answer
from llmzoo.envs.math.answers.finding import (
    DOUBT_AFTER,
    LONGEST,
    extract_answer,
    extract_boxed,
    extract_number,
    extract_stated_answer,
    is_prose,
)
from llmzoo.envs.math.answers.reading import AnswerParseError, parse_answer
from llmzoo.errors import MissingExtraError

__all__ = ["answers_match", "extract_boxed", "require_mpmath"]

_DECIMAL = re.compile(r"-?\d+[.,]\d+")
_CHOICE = re.compile(r"\(?([A-Z])\)?")
_LETTER = re.compile(r"[\s(\[{*$]*([A-Za-z])[.)\]}\s?*$]*")
_LAST_LETTER = re.compile(r"(?:\b(?:is|option|choice)\s{1,3}|\()([A-Z])\)?\W{0,5}$")
_OTHER_LETTER = re.compile(r"(?<![\w\\])(?:A(?! [a-z])|[B-E])(?![\w'])")
_OPTION = re.compile(r"\s*\(?([A-Z])[).:]+\s+(\S.*)")  # a choice with what it says
_NO_OPTION = re.compile(r"^\s*[=+*/^<>]|\b(?:no|but|neither|nor|answer)\b", re.IGNORECASE)
_SINGLE_WORD = re.compile(r"(?!(?:correct|right|enough|left)$)[A-Za-z]+")
_PLAIN = re.compile(r"-?(?:[\d.,]+(?:/\d+)?|\\frac(?:\{\d+\}\{\d+\}|\d\d))")


def require_mpmath(what: str) -> None:
    """Raise ``MissingExtraError`` where ``what`` needs packages that are not installed."""
    if importlib.util.find_spec("mpmath") is None:
        raise MissingExtraError(what, "math", "mpmath")


def answers_match(gold: str, given: str) -> bool:
    """Whether ``given`` is the answer ``gold``: an answer, or a text that gives one. Never raises."""
    ours, theirs = extract_answer(gold), extract_answer(given)
    return max(len(ours), len(theirs)) <= LONGEST and _texts_match(ours, theirs)


@lru_cache(maxsize=8192)
def _texts_match(gold: str, given: str) -> bool:
    ours, theirs = clean(gold), clean(given)
    if not all(any(sign.isalnum() or sign == "∞" for sign in text) for text in (ours, theirs)):
        return False  # no letters or digits
    choice = _CHOICE.fullmatch(ours)
    if choice:
        return ours == theirs or choice[1] in (
            _extract_choice_letter(given),
            _extract_choice_letter(theirs),
        )
    option = _OPTION.fullmatch(theirs)
    if option and _extract_choice_letter(theirs):
        theirs = option[2]
    return (
        ours == theirs or _clean_texts_match(ours, theirs) or _matches_in_prose(ours, theirs, given)
    )


def _clean_texts_match(gold: str, given: str) -> bool:
    """Whether two clean texts are one answer."""
    if _DECIMAL.fullmatch(gold) and _DECIMAL.fullmatch(given) and ("," in gold) != ("," in given):
        # a comma as in most of Europe, where a decimal of the same digits is asked for
        ours, theirs = (Fraction(text.replace(",", ".")) for text in (gold, given))
        return ours == theirs and ours.denominator > 1
    try:
        return same_answer(parse_answer(gold), parse_answer(given))
    except AnswerParseError:
        return False


def _matches_in_prose(gold: str, read_as: str, given: str) -> bool:
    """Whether a text in prose gives the answer, or the number; ``read_as`` is the clean text."""
    if not is_prose(given) or _is_number(read_as):
        return False
    stated = extract_stated_answer(given)
    candidates = [stated]
    if _PLAIN.fullmatch(gold) and not (
        _extract_choice_letter(given) or _SINGLE_WORD.fullmatch(stated or "")
    ):
        candidates.append(extract_number(given))
    return any(_clean_texts_match(gold, clean(text)) for text in candidates if text)


def _is_number(text: str) -> bool:
    try:
        return is_number(parse_answer(text))
    except AnswerParseError:
        return False


def _extract_choice_letter(text: str) -> str | None:
    """The letter of a choice that a text gives as its answer: alone, before what the choice says, or
    after "is"."""
    option, letter, surrounding = _OPTION.fullmatch(text), _LETTER.fullmatch(text), ""
    if option:
        letter, surrounding = option, option[2]
        if _NO_OPTION.search(surrounding):
            return None
    elif is_prose(text):
        letter = _LAST_LETTER.search(text)
        surrounding = text[: letter.start(1)] if letter else ""
    if letter is None or DOUBT_AFTER.search(surrounding) or _OTHER_LETTER.search(surrounding):
        return None
    return letter[1].upper()
