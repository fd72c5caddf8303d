"""Numbers of expressions: exact fractions, and real or complex ones of 130 digits.

A fraction stays one under ``+ - * /`` and whole powers. Everything else is an mpmath number, which
each thread has a context of its own for. What would need too many digits is refused before it is
computed.
"""

from __future__ import annotations

import importlib
import math
import threading
from fractions import Fraction
from typing import Any

Number = Any  # a Fraction, or a number of mpmath, which has no types

_DIGITS = 130
_NEAR = 100  # digits in which equal numbers agree
_MOST_BITS = 4_000
_LARGEST_FACTORIAL = 200
_LARGEST_BINOMIAL = 1_000


class Beyond(Exception):
    """An expression that has no value here."""


class TooLarge(Exception):
    """A number too large to be looked at anywhere."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.mp: Any = importlib.import_module("mpmath").mp.clone()
        self.mp.dps = _DIGITS


_local: _Local | None = None


def mp() -> Any:
    """This thread's context; mpmath comes with the extra for mathematics."""
    global _local
    if _local is None:
        _local = _Local()
    return _local.mp


def checked(value: Number) -> Number:
    """``value``, if it is finite and has not too many digits."""
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
            raise TooLarge("a number of more than a thousand digits")
        return value
    size = mp().mag(value)
    if size == mp().ninf:
        return value  # 0
    if not mp().isfinite(value):
        raise Beyond("not a finite number")
    if abs(int(size)) > _MOST_BITS:
        raise TooLarge("a number of more than a thousand digits")
    return value


def real(value: Number) -> Number:
    """``value`` for mpmath."""
    return mp().convert(value) if isinstance(value, Fraction) else value


def added(one: Number, other: Number) -> Number:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return checked(one + other)
    return checked(real(one) + real(other))


def times(one: Number, other: Number) -> Number:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return checked(one * other)
    return checked(real(one) * real(other))


def divided(one: Number, other: Number) -> Number:
    if is_zero(other):
        raise Beyond("division by zero")
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return checked(one / other)
    return checked(real(one) / real(other))


def power(base: Number, exponent: Number) -> Number:
    """``base ** exponent``; a root of odd degree of a negative number is the real one."""
    if is_zero(base):
        if real(exponent).real > 0:
            return Fraction(0)
        raise Beyond("a power of zero")
    bits = abs(int(mp().mag(real(base)))) + 1
    size = abs(real(exponent))
    if size * bits > _MOST_BITS:
        if base in (1, -1) and isinstance(exponent, Fraction) and exponent.denominator == 1:
            return Fraction(base) ** (exponent.numerator % 2)
        raise TooLarge("a high power")
    if not isinstance(exponent, Fraction):
        return checked(mp().power(real(base), exponent))
    if exponent.denominator == 1:
        if not isinstance(base, Fraction):
            return checked(mp().power(base, exponent.numerator))
        digits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if digits * abs(exponent.numerator) > 2 * _MOST_BITS:
            raise TooLarge("a high power")
        return checked(base**exponent.numerator)
    if exponent.denominator % 2 and is_real(base) and real(base).real < 0:
        size = mp().power(-real(base).real, real(exponent))
        return checked(-size if exponent.numerator % 2 else size)
    exact = _exact_root(base, exponent) if isinstance(base, Fraction) else None
    return checked(mp().power(real(base), real(exponent))) if exact is None else exact


def _exact_root(base: Fraction, exponent: Fraction) -> Fraction | None:
    """A square root that is a fraction."""
    if exponent.denominator != 2 or base < 0:
        return None
    top, bottom = math.isqrt(base.numerator), math.isqrt(base.denominator)
    if top * top != base.numerator or bottom * bottom != base.denominator:
        return None
    return checked(Fraction(top, bottom) ** exponent.numerator)


def factorial(value: Number) -> Number:
    if isinstance(value, Fraction) and value.denominator == 1:
        if value < 0:
            raise Beyond("a factorial of a negative number")
        if value > _LARGEST_FACTORIAL:
            raise TooLarge("a large factorial")
        return Fraction(math.factorial(value.numerator))
    if abs(real(value)) > _LARGEST_FACTORIAL:
        raise TooLarge("a large factorial")
    return checked(mp().gamma(real(value) + 1))


def binomial(above: Number, below: Number) -> Number:
    if max(abs(real(above)), abs(real(below))) > _LARGEST_BINOMIAL:
        raise TooLarge("a large binomial")
    if isinstance(above, Fraction) and isinstance(below, Fraction):
        if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above:
            raise Beyond("a binomial of no natural numbers")
        return Fraction(math.comb(above.numerator, below.numerator))
    return checked(mp().binomial(real(above), real(below)))


def is_zero(value: Number) -> bool:
    """Whether a number is 0, or so near to it that the digits do not tell."""
    if isinstance(value, Fraction):
        return value == 0
    return bool(value == 0 or mp().mag(value) < -360)


def is_real(value: Number) -> bool:
    return isinstance(value, Fraction) or close(value, value.real)


def close(one: Number, other: Number) -> bool:
    """Whether two numbers are equal: exactly, or in a hundred digits."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    one, other = real(one), real(other)
    scale = max(mp().one, abs(one), abs(other))
    return bool(abs(one - other) <= scale * mp().mpf(10) ** -_NEAR)
