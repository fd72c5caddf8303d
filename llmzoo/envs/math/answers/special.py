"""Powers, roots, factorials and functions of exact expressions."""

from __future__ import annotations

import math
from fractions import Fraction

from llmzoo.envs.math.answers.polynomials import (
    OPAQUE,
    Beyond,
    Quotient,
    TooLarge,
    atom,
    number,
    power,
)

_MOST_DIGITS = 1_000
_LARGEST_FACTORIAL = 200
_LARGEST_BINOMIAL = 1_000


def literal(digits: str, exponent: str) -> Quotient:
    if len(digits) > _MOST_DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > _MOST_DIGITS:
        raise TooLarge("a number of more than a thousand digits")
    return number(Fraction(digits.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0))


def rational_power(value: Quotient) -> Fraction:
    exact = value.rational()
    if exact is None:
        raise Beyond("a power that is no number")
    return exact


def raised(base: Quotient, exponent: Quotient) -> Quotient:
    exact = exponent.rational()
    if exact is None:
        return atom(f"{OPAQUE}pow({base.name()};{exponent.name()})")
    if exact.denominator != 1:
        return root(base, exact)
    return power(base, exact)


def root(inner: Quotient, exponent: Fraction) -> Quotient:
    try:
        return power(inner, exponent)
    except Beyond:
        return atom(f"{OPAQUE}root({inner.name()};{exponent})")


def factorial(base: Quotient) -> Quotient:
    value = base.rational()
    if value is None:
        return opaque("factorial", base)
    if value.denominator != 1 or value < 0:
        raise Beyond("a factorial of no natural number")
    if value > _LARGEST_FACTORIAL:
        raise TooLarge("a large factorial")
    return number(math.factorial(value.numerator))


def binomial(above: Quotient, below: Quotient) -> Quotient:
    n, k = above.rational(), below.rational()
    if n is None or k is None:
        return atom(f"{OPAQUE}binom({above.name()};{below.name()})")
    if n.denominator != 1 or k.denominator != 1 or not 0 <= k <= n:
        raise Beyond("a binomial of no natural numbers")
    if n > _LARGEST_BINOMIAL:
        raise TooLarge("a large binomial")
    return number(math.comb(n.numerator, k.numerator))


def opaque(function: str, inner: Quotient) -> Quotient:
    return atom(f"{OPAQUE}{function}({inner.name()})")


def absolute(inner: Quotient) -> Quotient:
    value = inner.size()
    if value is None:
        return opaque("abs", inner)
    return -inner if value < 0 else inner
