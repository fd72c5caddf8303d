"""Numbers of the calculator: integers and fractions as long as possible, floats where needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

from llmzoo.envs.text import cut
from llmzoo.envs.tools.toolbox import ToolError

Number = int | Fraction | float

MAX_BITS = 10_000  # of an exact number's numerator or denominator
MAX_EXPONENT = 300  # of a number in scientific notation
MAX_FACTORIAL = 1_000
MAX_DECIMALS = 30  # after the point, of an exact result


class CalculationError(ToolError):
    """An expression that cannot be read, or that has no value here."""


def number(text: str) -> Number:
    """The number that digits say, such as ``12``, ``.5`` or ``2.5e-3``."""
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and (len(exponent) > 5 or abs(int(exponent)) > MAX_EXPONENT):
        raise CalculationError(f"the number {cut(text, 40)} is too large or too small")
    return sized(Fraction(text) if exponent or "." in mantissa else int(text))


def shown(value: Number) -> str:
    """Integers and finite decimals in full, anything else with 12 significant digits."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value + 0.0:.12g}"  # no -0
    decimals = _decimals(value.denominator)
    if decimals is not None and decimals <= MAX_DECIMALS:
        digits = str(abs(value.numerator) * 10**decimals // value.denominator).zfill(decimals + 1)
        return f"{'-' * (value < 0)}{digits[:-decimals]}.{digits[-decimals:]}"
    with localcontext() as context:
        context.prec = 12
        rounded = Decimal(value.numerator) / Decimal(value.denominator)
    small = abs(rounded.adjusted()) < 300
    return f"{float(rounded):.12g}" if small else f"{rounded:.11e}"


def _decimals(denominator: int) -> int | None:
    """How many digits after the point a fraction in lowest terms has; None for infinitely many."""
    twos = (denominator & -denominator).bit_length() - 1
    denominator >>= twos
    fives = 0
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    return max(twos, fives) if denominator == 1 else None


def sized(value: Number) -> Number:
    """``value``, an integer where it is a whole fraction; refused where it is too large."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CalculationError("a number is too large")
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise CalculationError("a number is too large")
    return value.numerator if value.denominator == 1 else value


def divided(a: Number, b: Number) -> Number:
    """``a / b``, exact where both are."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return sized(Fraction(a) / b)


# operators that bind more tightly than + and -
PRODUCTS: dict[str, Callable[[Number, Number], Number]] = {
    "*": lambda a, b: a * b,
    "/": divided,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def power(base: Number, exponent: Number) -> Number:
    """``base`` to the ``exponent``; exact for whole exponents, and for halves where the root is."""
    if isinstance(base, float) or not isinstance(exponent, int):
        if base < 0 and exponent != int(exponent):
            raise CalculationError("a negative number has no such power")
        if isinstance(exponent, Fraction) and exponent.denominator == 2:
            return power(root(base), exponent.numerator)
        return float(base) ** float(exponent)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if bits * abs(exponent) > MAX_BITS:  # never more than the result has
        raise CalculationError("a power is too large")
    return Fraction(base) ** exponent


def root(x: Number) -> Number:
    """The square root, exact for squares of fractions."""
    if x < 0:
        raise CalculationError("a negative number has no square root")
    if not isinstance(x, float):
        exact = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
        if exact * exact == x:
            return exact
    return math.sqrt(x)


def factorial(n: Number) -> int:
    up_to = whole(n)
    if not 0 <= up_to <= MAX_FACTORIAL:
        raise CalculationError(f"factorials are those of 0 to {MAX_FACTORIAL}")
    return math.factorial(up_to)


def rounded(x: Number, digits: Number = 0) -> Number:
    """``x`` to so many digits after the point, or before it where ``digits`` is negative."""
    places = whole(digits)
    if abs(places) > MAX_EXPONENT:
        raise CalculationError(f"round takes at most {MAX_EXPONENT} digits")
    # as a fraction: a float that is rounded to two digits is exactly that decimal from then on
    return sized(round(Fraction(x), places))


def whole(x: Number) -> int:
    """``x``, which must be an integer."""
    if not isinstance(x, int):
        raise CalculationError(f"a whole number is needed, got {cut(shown(x), 40)}")
    return x


_ANY = 1_000  # arguments; more than an expression has room for
# name: (fewest arguments, most arguments, function)
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Number]]] = {
    "sqrt": (1, 1, root),
    "abs": (1, 1, abs),
    "round": (1, 2, rounded),
    "floor": (1, 1, math.floor),
    "ceil": (1, 1, math.ceil),
    "min": (1, _ANY, lambda *values: min(values)),
    "max": (1, _ANY, lambda *values: max(values)),
    "log": (1, 1, math.log),
    "log10": (1, 1, math.log10),
    "log2": (1, 1, math.log2),
    "exp": (1, 1, math.exp),
    "sin": (1, 1, math.sin),
    "cos": (1, 1, math.cos),
    "tan": (1, 1, math.tan),
    "gcd": (2, _ANY, lambda *values: math.gcd(*map(whole, values))),
    "lcm": (2, _ANY, lambda *values: math.lcm(*map(whole, values))),
    "factorial": (1, 1, factorial),
}
CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
