"""Whether two values are the same: exactly, as a percentage, in another unit, or rounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from llmzoo.envs.math.answers import units
from llmzoo.envs.math.answers.parsing import expression
from llmzoo.envs.math.answers.polynomials import Beyond, Quotient, equal, number
from llmzoo.envs.math.answers.shapes import Value
from llmzoo.envs.math.answers.spelling import spelled

Ask = Callable[[str, str], bool]

_DECIMAL = re.compile(r"-?\d*\.(\d{6,})")
_BASED = re.compile(r"\(?([0-9A-Fa-f]+)\)?\s*_\s*\{?\s*«?(\d{1,2}|[a-z]{3,8})»?\s*\}?")
_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_BASES |= {"eight": "8", "nine": "9", "ten": "10", "twelve": "12", "sixteen": "16"}
_SINGLE = re.compile(r"(.*\d\S{0,3})\s{1,6}([A-Za-z])(?: ?\^ ?\{?([23])\}?)?")
_HUGE_BITS = 200  # a number that is compared with numbers only
_HUNDREDTH = number(Fraction(1, 100))


def same_value(gold: Value, given: Value, ask: Ask) -> bool:
    """Whether ``given`` is the value ``gold``; ``ask`` decides what is not decided here."""
    if gold.text == given.text and gold.percent == given.percent and not conflict(gold, given):
        return True
    based = _BASED.fullmatch(gold.text)
    if based and not based[1].isalpha():
        return _same_digits(based, given.text)
    if units.known(given.unit) is not None:
        gold = _with_unit(gold)
    ours = read(gold.text)
    if ours is not None and ours.rational() is not None:
        given = _with_unit(given)
    theirs = read(given.text)
    if ours is None or theirs is None:
        return "\\" in gold.text + given.text and ask(spelled(gold), spelled(given))
    if conflict(gold, given):
        return _same_measure(gold, given, ours, theirs)
    if gold.percent != given.percent:
        scaled = (ours * _HUNDREDTH, theirs) if gold.percent else (ours, theirs * _HUNDREDTH)
        if equal(*scaled) or _approximates(gold.text, given.text, *scaled):
            return True
    verdict = equal(ours, theirs)
    if verdict is None:
        hopeless = _sizes_differ(ours, theirs) or _is_huge(ours) or _is_huge(theirs)
        return not hopeless and ask(spelled(gold), spelled(given))
    return verdict or _approximates(gold.text, given.text, ours, theirs)


@lru_cache(maxsize=4096)
def read(text: str) -> Quotient | None:
    """The exact expression that a clean text spells, if there is one. Raises ``TooLarge``."""
    try:
        return expression(text)
    except Beyond:
        return None


def _same_digits(gold: re.Match[str], given: str) -> bool:
    """Digits of another base than ten, such as ``531_8``; the base may be left out."""
    based = _BASED.fullmatch(given)
    if based is None:
        return given.casefold() == gold[1].casefold()
    one, other = (_BASES.get(found[2], found[2]) for found in (gold, based))
    return one == other and gold[1].casefold() == based[1].casefold()


def _with_unit(value: Value) -> Value:
    """``5 m`` as five metres, where the other side is a number or has a unit."""
    found = _SINGLE.fullmatch(value.text)
    if found is None or found[2] not in units.SINGLE_LETTERS:
        return value
    return replace(value, text=found[1], unit=f"«{found[2]}»^{found[3]}" if found[3] else found[2])


def _same_measure(gold: Value, given: Value, ours: Quotient, theirs: Quotient) -> bool:
    """Amounts in two units, which must measure the same."""
    one, other = units.known(gold.unit), units.known(given.unit)
    if one is None or other is None or one[0] != other[0]:
        return False
    return equal(ours * number(one[1]), theirs * number(other[1])) is True


def conflict(gold: Value, given: Value) -> bool:
    """Whether both have known units, and not the same."""
    ours, theirs = units.known(gold.unit), units.known(given.unit)
    return ours is not None and theirs is not None and ours != theirs


def _approximates(gold: str, given: str, ours: Quotient, theirs: Quotient) -> bool:
    """Whether one is the other, which is no finite decimal, to six places or more."""
    for text, other, written in ((gold, theirs, ours), (given, ours, theirs)):
        found = _DECIMAL.fullmatch(text)
        exact, size, value = other.rational(), other.size(), written.rational()
        if (
            found is None
            or size is None
            or value is None
            or (exact is not None and _is_decimal(exact))
        ):
            continue
        places = min(len(found[1]), 12)
        near = abs(exact - value) if exact is not None else Fraction(abs(size - float(value)))
        if near <= Fraction(1, 10**places):
            return True
    return False


def _is_decimal(value: Fraction) -> bool:
    left = value.denominator
    for prime in (2, 5):
        while left % prime == 0:
            left //= prime
    return left == 1


def _is_huge(side: Quotient) -> bool:
    value = side.rational()
    return value is not None and value.numerator.bit_length() > _HUGE_BITS


def _sizes_differ(ours: Quotient, theirs: Quotient) -> bool:
    one, other = ours.size(), theirs.size()
    return one is not None and other is not None and abs(one - other) > 1e-6 * max(1.0, abs(one))
