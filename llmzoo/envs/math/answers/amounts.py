"""Whether two values are the same: exactly, as a percentage, in another unit, or rounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from llmzoo.envs.math.answers import arithmetic, expressions, units
from llmzoo.envs.math.answers.arithmetic import Number
from llmzoo.envs.math.answers.shapes import Shape, Value
from llmzoo.envs.math.answers.spelling import spelled

Ask = Callable[[str, str], bool]

_DECIMAL = re.compile(r"-?\d*\.(\d{6,50})")
_BASED = re.compile(r"\(?([0-9A-Fa-f]+)\)?\s*_\s*\{?\s*«?(\d{1,2}|[a-z]{3,8})»?\s*\}?")
_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_BASES |= {"eight": "8", "nine": "9", "ten": "10", "twelve": "12", "sixteen": "16"}
_SINGLE = re.compile(r"(.*\d\S{0,3})\s{1,6}([A-Za-z])(?: ?\^ ?\{?([23])\}?| ?/ ?([a-z]))?")
_CAPITALS = re.compile(r"[A-Z]{2,}")


def same_value(gold: Value, given: Value, ask: Ask) -> bool:
    """Whether ``given`` is the value ``gold``; ``ask`` decides what is not decided here."""
    if gold.unit or given.unit:
        gold = _with_unit(gold)
    if gold.text == given.text and gold.percent == given.percent and not conflict(gold, given):
        return True
    if "∞" in gold.text or "∞" in given.text:
        return gold.text.replace(" ", "") == given.text.replace(" ", "")
    if _CAPITALS.fullmatch(gold.text) or r"\emptyset" in (gold.text, given.text):
        return False  # a word, or points in their order
    based = _BASED.fullmatch(gold.text)
    if based and not based[1].isalpha():
        return _same_digits(based, given.text)
    number = expressions.value(gold.text)
    if isinstance(number, Fraction):
        given = _with_unit(given)
    if conflict(gold, given):
        return _same_measure(gold, given)
    if given.unit == "°" and not gold.unit and "π" in gold.text:
        given = replace(given, text=f"({given.text})*π/180")
    if gold.percent != given.percent and _same_hundredths(gold, given):
        return True
    verdict = expressions.same_value(gold.text, given.text)
    if verdict is None:
        # what is a number is compared here or not at all
        asked = number is None and "\\" in gold.text + given.text
        return asked and ask(spelled(gold), spelled(given))
    return verdict or _approximates(gold.text, given.text) or _approximates(given.text, gold.text)


def is_number(shape: Shape) -> bool:
    """Whether this is a number, with or without a unit."""
    return isinstance(shape, Value) and expressions.value(_with_unit(shape).text) is not None


def conflict(gold: Value, given: Value) -> bool:
    """Whether both have units, and not the same."""
    ours, theirs = units.known(gold.unit), units.known(given.unit)
    if ours is None or not given.unit:
        return False  # a word that is no unit says what is counted
    return ours != theirs


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
    if found is None or value.unit or found[2] not in units.SINGLE_LETTERS:
        return value
    power, per = f"^{found[3]}" if found[3] else "", f"/{found[4]}" if found[4] else ""
    return replace(value, text=found[1], unit=f"«{found[2]}»{power}{per}")


def _same_measure(gold: Value, given: Value) -> bool:
    """Amounts in two units, which must measure the same."""
    one, other = units.known(gold.unit), units.known(given.unit)
    if one is None or other is None or one[0] != other[0]:
        return False
    ours, theirs = expressions.value(gold.text), expressions.value(given.text)
    if ours is None or theirs is None or not one[1]:
        return False
    return arithmetic.close(arithmetic.times(ours, one[1]), arithmetic.times(theirs, other[1]))


def _same_hundredths(gold: Value, given: Value) -> bool:
    """Whether one is a percentage and the other the fraction that it stands for."""
    ours, theirs = expressions.value(gold.text), expressions.value(given.text)
    if ours is None or theirs is None:
        return False
    hundredth = Fraction(1, 100)
    if gold.percent:
        return arithmetic.close(arithmetic.times(ours, hundredth), theirs)
    return arithmetic.close(ours, arithmetic.times(theirs, hundredth))


def _approximates(decimal: str, exact: str) -> bool:
    """Whether a decimal of six places or more is a number, rounded or cut, that is no decimal."""
    found = _DECIMAL.fullmatch(decimal)
    number = expressions.value(exact) if found else None
    if found is None or number is None or not arithmetic.is_real(number):
        return False
    if isinstance(number, Fraction) and _is_decimal(number):
        return False
    shown = int(decimal.replace(".", ""))
    scaled = arithmetic.times(number, Fraction(10) ** len(found[1]))
    return shown in (_cut(scaled), _cut(2 * scaled + (1 if shown > 0 else -1), 2))


def _cut(number: Number, divisor: int = 1) -> int:
    """The whole part of a quotient, towards 0."""
    value = number if isinstance(number, Fraction) else number.real
    return int(value / divisor)


def _is_decimal(value: Fraction) -> bool:
    left = value.denominator
    for prime in (2, 5):
        while left % prime == 0:
            left //= prime
    return left == 1
