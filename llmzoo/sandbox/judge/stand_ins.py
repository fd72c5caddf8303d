"""Plain data that replaces a value that is not plain data, for asserts about literals.

The program's process makes the plain value in one traversal. How depends on what the test does first with
the value of the call: ``list(f(3)) == [9]`` needs the elements, ``str(f(3)) == "9"`` the text. The process does
not learn what the test expects. Decimals and fractions are sent as the ratio of two integers, with which no
assert about literals can be slow.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ..confine.plain_data import NotData

_MAX_BITS = 4_000  # of a numerator or denominator


def _count(value: Any) -> list[None]:
    try:
        elements = iter(value)
    except TypeError:
        return [None] * len(value)
    return [None for _ in elements]


# a function of the value, and of the arguments that the test gives
_MAKERS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (list, str, int, float, bool, abs)},
    "len": _count,
    "truths": lambda value: list(map(bool, value)),
    "item": lambda value, index: {index: value[index]},
    "object": lambda value: f"an object of type {type(value).__name__!r}",
}


def make_stand_in(value: Any, how: str = "", *settings: Any) -> Any:
    """The value to send in place of one that is not plain data. Raises what the value raises."""
    return _MAKERS[how](value, *settings) if how else value


def to_ratio(value: Any) -> list[Any] | None:
    """The tagged list of a finite Decimal or a Fraction, or None."""
    if isinstance(value, (Decimal, Fraction)):
        try:
            return ["ratio", *value.as_integer_ratio()]
        except (ValueError, OverflowError):  # not a number, or infinite
            return None
    return None


def from_ratio(tagged: list[Any]) -> Fraction:
    """The number of a tagged list of an untrusted program. Raises NotData for any other list."""
    tag, *parts = tagged
    if tag != "ratio" or len(parts) != 2 or not all(type(part) is int for part in parts):
        raise NotData(f"not a value: tag {tag[:20]!r}")
    numerator, denominator = parts
    if denominator <= 0 or max(numerator.bit_length(), denominator.bit_length()) > _MAX_BITS:
        raise NotData("not a value: a ratio of numbers that are too long")
    return Fraction(numerator, denominator)
