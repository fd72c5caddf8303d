"""Exact expressions: quotients of sums of products, in a normal form that decides equality.

A term is a rational coefficient and powers of atoms. Atoms are variables, π, e, and the primes
under roots: the square root of 12 is ``2 * 3^(1/2)``. Products of fractional powers of primes are
linearly independent over the rationals (Besicovitch 1940), so two sums of such terms are equal only
if they are the same. A variable under a root counts as positive, but the root of its square is not
the variable. What is beyond this (a sine, a factorial of a variable) is an opaque atom, named by its
own normal form: equal atoms are equal, different ones may be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Term = tuple[tuple[str, Fraction], ...]
Sum = dict[Term, Fraction]

_MOST_TERMS = 200
_MOST_BITS = 4_000
_LARGEST_POWER = 1_000
_LARGEST_FACTORED = 10**8
OPAQUE = "@"  # how the name of an opaque atom begins
_FLOATS = {"π": math.pi, "e": math.e}


class Beyond(Exception):
    """An expression that is not decided here."""


class TooLarge(Exception):
    """A number or expression too large to be looked at anywhere."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """``top / bottom``, two sums; the bottom is not zero."""

    top: Sum
    bottom: Sum

    def __add__(self, other: Quotient) -> Quotient:
        if self.bottom == other.bottom:
            return quotient(_added(self.top, other.top), self.bottom)
        return quotient(
            _added(_times(self.top, other.bottom), _times(other.top, self.bottom)),
            _times(self.bottom, other.bottom),
        )

    def __neg__(self) -> Quotient:
        return Quotient({term: -c for term, c in self.top.items()}, self.bottom)

    def __sub__(self, other: Quotient) -> Quotient:
        return self + -other

    def __mul__(self, other: Quotient) -> Quotient:
        return quotient(_times(self.top, other.top), _times(self.bottom, other.bottom))

    def __truediv__(self, other: Quotient) -> Quotient:
        if not other.top:
            raise Beyond("division by zero")
        return quotient(_times(self.top, other.bottom), _times(self.bottom, other.top))

    def rational(self) -> Fraction | None:
        """The number that this is, if it is a rational one."""
        if not self.top:
            return Fraction(0)
        if set(self.top) == {()} and set(self.bottom) == {()}:
            return self.top[()] / self.bottom[()]
        return None

    def atoms(self) -> set[str]:
        return {atom for part in (self.top, self.bottom) for term in part for atom, _ in term}

    def variables(self) -> set[str]:
        """The atoms that are no numbers."""
        return {a for a in self.atoms() if not (a.isdigit() or a in ("π", "i"))}

    def is_certain(self) -> bool:
        """Whether this differs from everything of another normal form."""
        return not any(atom.startswith(OPAQUE) for atom in self.atoms())

    def size(self) -> float | None:
        """Its value as a float, if it is a real number."""
        try:
            return _size(self.top) / _size(self.bottom)
        except (KeyError, OverflowError, ZeroDivisionError):
            return None

    def name(self) -> str:
        """The same text for the same normal form."""
        return f"({_name(self.top)})/({_name(self.bottom)})"


ONE: Sum = {(): Fraction(1)}


def number(value: Fraction | int) -> Quotient:
    value = Fraction(value)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise TooLarge("a number of more than a thousand digits")
    return Quotient({(): value} if value else {}, ONE)


def atom(name: str) -> Quotient:
    return Quotient({((name, Fraction(1)),): Fraction(1)}, ONE)


def quotient(top: Sum, bottom: Sum) -> Quotient:
    """Divided out where the bottom is a single term."""
    if not bottom:
        raise Beyond("division by zero")
    if bottom != ONE and len(bottom) == 1:
        ((term, coefficient),) = bottom.items()
        if not any(a == "i" for a, _ in term):
            inverse = _normal({tuple((a, -e) for a, e in term): 1 / coefficient})
            top, bottom = _times(top, inverse), ONE
    return Quotient(top, bottom)


def equal(one: Quotient, other: Quotient) -> bool | None:
    """Whether two expressions are the same function; None where that is not decided here."""
    try:
        difference = _added(
            _times(one.top, other.bottom),
            {t: -c for t, c in _times(other.top, one.bottom).items()},
        )
    except Beyond:
        return None
    if not difference:
        return True
    if one.is_certain() and other.is_certain():
        return False
    return None


def power(base: Quotient, exponent: Fraction) -> Quotient:
    """``base ** exponent``; raises :class:`Beyond` for a root of a sum."""
    if abs(exponent) > _LARGEST_POWER:
        value = base.rational()
        if value is not None and value not in (0, 1, -1):
            raise TooLarge("a power of more than a thousand factors")
        raise Beyond("a high power")
    if exponent < 0:
        return power(Quotient(ONE, ONE) / base, -exponent)
    if exponent.denominator == 1:
        result, factor, left = Quotient(ONE, ONE), base, exponent.numerator
        if len(base.top) > 1 and left > 40:
            raise Beyond("a high power of a sum")
        while left:
            if left & 1:
                result = result * factor
            left >>= 1
            if left:
                factor = factor * factor
        return result
    return quotient(_root(base.top, exponent), _root(base.bottom, exponent))


def _root(part: Sum, exponent: Fraction) -> Sum:
    if not part:
        return {}
    if len(part) > 1:
        raise Beyond("a root of a sum")
    ((term, coefficient),) = part.items()
    powers = {a: e * exponent for a, e in term}
    if any(a == "i" for a in powers):
        raise Beyond("a root of a complex number")
    if any(_loses_sign(a, e, powers[a]) for a, e in term):
        raise Beyond("a root of a square, which may be of a negative number")
    sign = Fraction(1)
    if coefficient < 0:
        if exponent.denominator % 2 == 1:
            sign = Fraction(-1) if exponent.numerator % 2 else Fraction(1)
        elif exponent.denominator == 2:
            powers["i"] = Fraction(exponent.numerator)
        else:
            raise Beyond("a root of a negative number")
        coefficient = -coefficient
    for prime, count in _factors(coefficient).items():
        powers[str(prime)] = powers.get(str(prime), Fraction(0)) + count * exponent
    return _normal({tuple(powers.items()): sign})


def _loses_sign(a: str, before: Fraction, after: Fraction) -> bool:
    """Whether an even power of a variable becomes an odd one, as of ``sqrt(x^2)``."""
    is_number = a.isdigit() or a in _FLOATS
    return not is_number and before.numerator % 2 == 0 and after.numerator % 2 == 1


def _factors(value: Fraction) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        left, divisor = part, 2
        exact = math.isqrt(left)
        if left > _LARGEST_FACTORED and exact * exact == left and exact <= _LARGEST_FACTORED:
            for prime, count in _factors(Fraction(exact)).items():
                found[prime] = found.get(prime, 0) + 2 * sign * count
            continue
        if left > _LARGEST_FACTORED:
            raise Beyond("a root of a large number")
        while divisor * divisor <= left:
            while left % divisor == 0:
                found[divisor] = found.get(divisor, 0) + sign
                left //= divisor
            divisor += 1
        if left > 1:
            found[left] = found.get(left, 0) + sign
    return found


def _added(one: Sum, other: Sum) -> Sum:
    total = dict(one)
    for term, coefficient in other.items():
        _add(total, term, coefficient)
    return _checked(total)


def _add(total: Sum, term: Term, coefficient: Fraction) -> None:
    value = total.get(term, Fraction(0)) + coefficient
    if value:
        total[term] = value
    else:
        total.pop(term, None)


def _times(one: Sum, other: Sum) -> Sum:
    if one == ONE:
        return other
    if other == ONE:
        return one
    if len(one) * len(other) > 4 * _MOST_TERMS:
        raise Beyond("a product of many terms")
    total: Sum = {}
    for term, coefficient in one.items():
        for second, factor in other.items():
            powers = dict(term)
            for a, e in second:
                powers[a] = powers.get(a, Fraction(0)) + e
            for product, value in _normal({tuple(powers.items()): coefficient * factor}).items():
                _add(total, product, value)
    return _checked(total)


def _normal(part: Sum) -> Sum:
    """One term with whole powers of primes in the coefficient, and of i between 0 and 1."""
    ((powers, coefficient),) = part.items()
    kept: list[tuple[str, Fraction]] = []
    for a, e in powers:
        if a == "i":
            if e.denominator != 1:
                raise Beyond("a root of i")
            turns = e.numerator % 4
            coefficient = -coefficient if turns in (2, 3) else coefficient
            e = Fraction(turns % 2)
        elif a.isdigit():
            whole = math.floor(e)
            if abs(whole) * int(a).bit_length() > _MOST_BITS:
                raise TooLarge("a high power")
            coefficient *= Fraction(int(a)) ** whole
            e -= whole
        if e:
            kept.append((a, e))
    return {tuple(sorted(kept)): coefficient}


def _checked(part: Sum) -> Sum:
    if len(part) > _MOST_TERMS:
        raise Beyond("many terms")
    for coefficient in part.values():
        if max(coefficient.numerator.bit_length(), coefficient.denominator.bit_length()) > (
            _MOST_BITS
        ):
            raise TooLarge("a number of more than a thousand digits")
    return part


def _size(part: Sum) -> float:
    total = 0.0
    for term, coefficient in part.items():
        value = float(coefficient)
        for a, e in term:
            value *= (float(a) if a.isdigit() else _FLOATS[a]) ** float(e)
        total += value
    return total


def _name(part: Sum) -> str:
    return "+".join(
        f"{c}*" + "*".join(f"{a}^{e}" for a, e in term) for term, c in sorted(part.items())
    )
