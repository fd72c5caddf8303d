"""Logarithms as binary numbers of a given precision, and their digits: what mpmath computes and writes.

BFCL's ``logarithm`` returns a number of mpmath, whose ``repr`` is the response. A precision of ``n`` digits
means ``round((n + 1) * log2(10))`` bits. Both logarithms are rounded to so many bits, and so is their
quotient. (mpmath 1.3, ``libmp.libmpf``, for the rules.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

MAX_PRECISION = 1_000  # digits

_BITS_PER_DIGIT = math.log2(10)


@dataclass(frozen=True, slots=True)
class Number:
    """A number whose ``repr`` is that of mpmath's."""

    digits: str

    def __repr__(self) -> str:
        return f"mpf('{self.digits}')"


def logarithm(value: Any, base: Any, precision: Any) -> Number:
    """The logarithm; raises ``ValueError`` for what has no real logarithm, and for a precision that is too
    large."""
    for given in (value, base):
        if not isinstance(given, (int, float)):
            raise ValueError(f"cannot create mpf from {given!r}")
    digits = max(1, int(precision))
    if digits > MAX_PRECISION:
        raise ValueError(f"the precision must be at most {MAX_PRECISION} digits")
    bits = max(1, round((digits + 1) * _BITS_PER_DIGIT))
    top, bottom = _log(value, bits), _log(base, bits)
    shown = max(1, round(bits / _BITS_PER_DIGIT - 1))
    shown = 17 if shown == 15 else shown + 3
    if bottom == 0:
        raise ZeroDivisionError
    if top is None or bottom is None:
        if top is bottom:
            return Number("nan")
        if bottom is None:
            return Number("0.0")
        return Number("-inf" if bottom > 0 else "+inf")
    return Number(_write(_round(top / bottom, bits), shown))


def _log(value: float, bits: int) -> Fraction | None:
    """The natural logarithm, rounded; None for minus infinity."""
    number = Decimal(value)
    if not number.is_finite() or number < 0:
        raise ValueError("the logarithm of a negative number is not real")
    if number == 0:
        return None
    exact = Context(prec=int(bits / _BITS_PER_DIGIT) + 25)
    return _round(Fraction(exact.ln(number)), bits)


def _round(value: Fraction, bits: int) -> Fraction:
    """The nearest number of so many bits, the even one of two."""
    if value == 0:
        return value
    top = abs(value.numerator)
    exponent = top.bit_length() - value.denominator.bit_length() - bits
    for scale in (exponent, exponent + 1):  # one of them leaves exactly so many bits
        mantissa = round(value / Fraction(2) ** scale)
        if abs(mantissa).bit_length() <= bits or abs(mantissa) == 1 << bits:
            return mantissa * Fraction(2) ** scale
    raise AssertionError(value)


def _write(value: Fraction, most: int) -> str:
    """The number with at most so many digits, half of the last one rounded up; zeros at the end are left
    out."""
    if value == 0:
        return "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = _decimal(abs(value), most + 3)
    if len(digits) > most and digits[most] in "56789":
        rounded = str(int(digits[:most]) + 1)
        exponent += len(rounded) - most
        digits = rounded[:most]
    digits = digits[:most]
    point = 1
    if min(-(most // 3), -5) < exponent < most:
        if exponent < 0:
            digits = "0" * -exponent + digits
        else:
            point = exponent + 1
            digits = digits.ljust(point, "0")
        exponent = 0
    whole = f"{digits[:point]}.{digits[point:]}".rstrip("0")
    whole += "0" if whole.endswith(".") else ""
    return sign + whole + (f"e{exponent:+d}" if exponent else "")


def _decimal(value: Fraction, digits: int) -> tuple[str, int]:
    """The first so many decimal digits of a positive number, cut off, and the exponent of the first."""
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = math.floor(bits / _BITS_PER_DIGIT)
    scaled = int(value * Fraction(10) ** (digits - exponent + 1))
    text = str(scaled)
    return text[:digits], exponent + len(text) - digits - 2
