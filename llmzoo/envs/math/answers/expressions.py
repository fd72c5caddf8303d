r"""Reads a clean text as an expression and computes it. No text is evaluated as Python.

Numbers have 150 digits, at most 120 of them before the point, and those that agree in 130 are equal.
Variables have values at a few points, and expressions that agree at all of them are equal. At some
points all variables are positive. At the others one of them is negative, and only real values count:
``\sqrt{x^2}`` is not ``x``, but ``\sqrt{x}\sqrt{y}`` is ``\sqrt{xy}``. The base of a ``\log`` without
one is a variable: ``\log 8 / \log 2`` is 3 in any base, and ``\log 100`` equals no number.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

Number = Any  # of mpmath, which has no types

_FUNCTIONS_OF_MPMATH = {
    **{name: name for name in "sin cos tan cot sec csc sinh cosh tanh exp".split()},  # noqa: SIM905
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log", "lg": "log10"},
}
_INVERSE = {"sin": "asin", "cos": "acos", "tan": "atan"}
FUNCTIONS = frozenset({*_FUNCTIONS_OF_MPMATH, "log", "abs", "det", "gcd", "lcm", "max", "min"})
GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi
    rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi
    Omega ell hbar""".split()  # noqa: SIM905
)
_CALLED = frozenset("fgh")  # functions before a bracket, not factors
_DIGITS, _NEAR = 150, 130
_BITS = 400  # of a value and of the terms of a sum, which the digits hold exactly
_MOST_BITS = 4_000  # of the factors of a product
_LARGEST_FACTORIAL, _LARGEST_BINOMIAL, _LARGEST_ARGUMENT = 200, 1_000, 10**6
_DEEPEST = 25
_TOKEN = re.compile(
    r"(?P<mixed>(?<!\^)\d{1,9} ?(?:\\frac ?(?:\{ ?\d{1,9} ?\}|\d) ?(?:\{ ?\d{1,9} ?\}|\d)|"
    r"(?<= )\d{1,9} ?/ ?\d{1,9}))"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3}(?![A-Za-z]))?)"
    r"|(?P<name>(?:\\(?!(?:frac|sqrt|sum|[dt]?binom)(?![A-Za-z]))[A-Za-z]+|[A-Za-zα-ωΑ-Ω])'*)"
    r"|(?P<other>\\[A-Za-z]+|\\[{}]|\S)"
)
_WHOLE = re.compile(r"\d+")
_TWO_NUMBERS = re.compile(r"[\d.]{2}")  # side by side
_SUBSCRIPT = re.compile(r"\s*_\s*(?:\{([^{}]{1,40})\}|\\?([A-Za-z]+|\d))('*)")
_BOUNDS = re.compile(r"\s*_\s*\{([^{}]{1,40})\}\s*\^\s*(\{[^{}]{1,40}\}|\w|∞)")  # of a sum
_CLOSING = {"(": ")", "[": "]", "{": "}", r"\{": r"\}", "|": "|"}
_MOST_VARIABLES = 5
_SCALES = tuple(map(Fraction, ("1", "1/8", "4", "1/2", "16", "1/40")))
_BASE = "log"  # the unknown base of a logarithm, as a variable

Point = Callable[[str], Number]  # the value of a variable


class NotAnExpression(Exception):
    """A text that is no expression, or one without a value here."""


class _Local(threading.local):
    """A context of mpmath for each thread."""

    def __init__(self) -> None:
        self.mp: Any = importlib.import_module("mpmath").mp.clone()
        self.mp.dps = _DIGITS


_local: _Local | None = None


def _mp() -> Any:
    global _local
    if _local is None:
        _local = _Local()
    return _local.mp


def evaluate(text: str) -> Number:
    """The number that a clean text without variables spells; None for all others."""
    result = _compute(text)
    return None if result is None or result[1] else result[0]


def is_expression(text: str) -> bool:
    return _compute(text) is not None


def is_close(one: Number, other: Number) -> bool:
    """Whether two numbers are equal in as many digits as count."""
    scale = max(_mp().one, abs(one), abs(other))
    return bool(abs(one - other) <= scale * _mp().mpf(10) ** -_NEAR)


def is_decimal(number: Number, decimals: int) -> bool:
    """Whether a number has at most so many digits after the point."""
    shifted = number * 10**decimals
    return is_close(shifted, _mp().nint(shifted))


def is_real(number: Number) -> bool:
    return is_close(number, number.real)


def same_value(one: str, other: str) -> bool:
    """Whether two clean texts are the same function of the variables of the first."""
    ours, theirs = _compute(one), _compute(other)
    if ours is None or theirs is None:
        return False
    if theirs[1] - ours[1] - {_BASE} or not is_close(ours[0], theirs[0]):
        return False
    names = ours[1] | theirs[1]
    if not names:
        return True
    for number, (a, b) in enumerate(zip(_values(one, names), _values(other, names), strict=True)):
        if a is None or b is None or (number >= len(_SCALES) and not (is_real(a) and is_real(b))):
            continue
        if not is_close(a, b):
            return False
    return True


def factor_between(one: tuple[str, str], other: tuple[str, str]) -> float:
    """The constant factor between the differences of the sides of two relations; 0 without one."""
    computed = [_compute(side) for side in (*one, *other)]
    names = frozenset[str]().union(*(result[1] for result in computed if result))
    if None in computed:
        return 0.0
    columns = [_values(side, names) for side in (*one, *other)]
    factor: Number = None
    for left, right, other_left, other_right in zip(*columns, strict=True):
        if None in (left, right, other_left, other_right):
            continue
        a, b = left - right, other_left - other_right
        if is_close(a, 0) or is_close(b, 0):
            return 0.0  # holds everywhere, and says nothing
        if not is_real(a / b) or (factor is not None and not is_close(factor, a / b)):
            return 0.0
        factor = a / b
    return 0.0 if factor is None else float(factor.real)


@lru_cache(maxsize=4096)
def _compute(text: str) -> tuple[Number, frozenset[str]] | None:
    """The value where all variables are positive, and the variables."""
    try:
        parser = _Parser(text, _point(_SCALES[0]))
        return parser.whole(), frozenset(parser.names)
    except NotAnExpression:
        return None


def _values(text: str, names: frozenset[str]) -> list[Number]:
    """The values at all points for these variables; None where there is none."""
    points = [_point(scale) for scale in _SCALES]
    for name in sorted(names - {_BASE})[:_MOST_VARIABLES]:
        points += [_point(scale, name) for scale in _SCALES[:4]]
    results: list[Number] = []
    for point in points:
        try:
            results.append(_Parser(text, point).whole())
        except NotAnExpression:
            results.append(None)
    return results


@lru_cache(maxsize=1024)
def _hash_to_int(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) | 1


def _point(scale: Fraction, negated: str = "") -> Point:
    """Values between 0.3 and 2.3 times ``scale``, of which one may be negative."""

    def at(name: str) -> Number:
        size = (
            _mp().mpf(_hash_to_int(f"{name} {scale}")) / 2**63 + _mp().mpf(3) / 10
        ) * scale.numerator
        return (-size if name == negated else size) / scale.denominator

    return at


class _Parser:
    """Recursive descent over tokens, which computes as it goes."""

    def __init__(self, text: str, point: Point):
        self.text = text
        self.point = point
        self.names: set[str] = set()
        self.at = 0
        self.depth = 0
        self.angle = 0  # the number of trigonometric functions around

    def whole(self) -> Number:
        result = self.sum()
        if self.peek():
            raise NotAnExpression
        return _check(result, _BITS)

    def token(self) -> re.Match[str] | None:
        while self.text.startswith(" ", self.at):
            self.at += 1
        return _TOKEN.match(self.text, self.at)

    def peek(self) -> str:
        token = self.token()
        return "" if token is None else token[0]

    def take(self, *signs: str) -> str:
        sign = self.peek()
        if sign not in signs:
            return ""
        self.at += len(sign)
        return sign

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise NotAnExpression

    def sum(self) -> Number:
        total = self.signed_operand(self.product)
        while sign := self.take("+", "-"):
            total, term = _check(total, _BITS), _check(self.product(), _BITS)
            total = _round_to_zero(total + term if sign == "+" else total - term)
        return total

    def signed_operand(self, read: Callable[[], Number]) -> Number:
        negative = False
        while sign := self.take("+", "-"):
            negative ^= sign == "-"
        result = read()
        return -result if negative else result

    def product(self) -> Number:
        result, was_power = self.factor()
        while True:
            if sign := self.take("*", "/"):
                factor = self.signed_operand(lambda: self.factor()[0])
                was_power = False
                result = _check(result * factor) if sign == "*" else _divide(result, factor)
            elif self.begins_factor():
                both = self.text[: self.at].rstrip()[-1:] + self.text[self.at]
                if not was_power and _TWO_NUMBERS.fullmatch(both):
                    raise NotAnExpression
                factor, was_power = self.factor()
                result = _check(result * factor)
            else:
                return result

    def begins_factor(self) -> bool:
        sign = self.peek()
        return (
            bool(sign)
            and (sign in ("(", "[", "{") or sign[0].isalnum() or sign[0] in "\\.")
            and (sign != r"\}")
        )

    def factor(self) -> tuple[Number, bool]:
        """A factor with its powers, and whether it has any."""
        base, was_power = self.base(), False
        while True:
            if self.take("^"):
                base, was_power = _power(base, self.exponent()), True
            elif self.take("!"):
                if self.peek() == "!":
                    raise NotAnExpression
                base = _factorial(base)
            elif self.angle and self.take("°"):
                base = base * _mp().pi / 180
            else:
                return base, was_power

    def exponent(self) -> Number:
        """What follows ``^``; towers are computed from above."""
        token = self.token()
        if token is not None and token["number"]:  # 2^10 is meant as it looks
            self.at = token.end()
            result = _literal(token[0])
        else:
            result = self.argument()
        return _power(result, self.exponent()) if self.take("^") else result

    def base(self) -> Number:
        self.depth += 1
        token = self.token()
        if token is None or self.depth > _DEEPEST:
            raise NotAnExpression
        sign = token[0]
        if sign in _CLOSING:
            result = self.group(sign)
        else:
            self.at = token.end()
            if token["mixed"]:
                result = self.mixed_number(token)
            elif token["number"]:
                result = _literal(sign)
                if self.peek() == "_":
                    raise NotAnExpression  # digits of another base
            elif token["name"]:
                result = self.identifier(sign)
            else:
                result = self.command(sign)
        self.depth -= 1
        return result

    def mixed_number(self, token: re.Match[str]) -> Number:
        r"""``2\frac{1}{2}`` or ``2 1/2``; only the whole part where the rest is no proper fraction."""
        whole = _WHOLE.match(token[0])
        assert whole is not None
        parts = _WHOLE.findall(token[0][whole.end() :])
        top, bottom = map(int, parts if len(parts) == 2 else (parts[0][0], parts[0][1:]))
        if 0 < top < bottom:
            return int(whole[0]) + _mp().mpf(top) / bottom
        self.at = token.start() + whole.end()
        return _mp().mpf(whole[0])

    def group(self, opening: str) -> Number:
        self.expect(opening)
        inner = self.sum()
        self.expect(_CLOSING[opening])
        return abs(inner) if opening == "|" else inner

    def argument(self) -> Number:
        """What follows ``^`` or a command: a group, or one sign."""
        negative = False
        while self.take("-"):  # as keyboards write it: x^-2
            negative = not negative
        sign = self.peek()
        if sign[:1].isdecimal():
            self.at += 1
            result = _mp().mpf(sign[0])
        else:
            result = self.group(sign) if sign in ("{", "(") else self.base()
        return -result if negative else result

    def identifier(self, name: str) -> Number:
        if name in _CALLED and self.peek() == "(":
            # some function of its argument, like no other
            inner = self.group("(") * self.variable(f"{name}()")
            return _mp().sin(inner) + self.variable(f"{name}()")
        if name.startswith("\\"):
            name = name[1:]
            if name in FUNCTIONS:
                return self.function(name)
            if name.rstrip("'") not in GREEK:
                raise NotAnExpression
        subscript = _SUBSCRIPT.match(self.text, self.at)
        if subscript:
            self.at = subscript.end()
            name += "_" + re.sub(r"\s", "", subscript[1] or subscript[2]) + subscript[3]
        constants = {"π": _mp().pi, "e": _mp().e, "i": _mp().j}
        return +constants[name] if name in constants else self.variable(name)

    def variable(self, name: str) -> Number:
        self.names.add(name)
        return self.point(name)

    def command(self, name: str) -> Number:
        if name == r"\frac":
            top = self.argument()
            return _divide(top, self.argument())
        if name in (r"\binom", r"\dbinom", r"\tbinom"):
            above = self.argument()
            return _binomial(above, self.argument())
        bounds = _BOUNDS.match(self.text, self.at)
        if name == r"\sum" and bounds:  # is not computed: a factor like no other
            self.at = bounds.end()
            return self.variable(re.sub(r"[\s{}]", "", f"sum {bounds[1]} {bounds[2]}"))
        if name != r"\sqrt":
            raise NotAnExpression
        degree = self.group("[") if self.peek() == "[" else _mp().mpf(2)
        if not is_real(degree) or degree.real < 1:
            raise NotAnExpression
        inner = self.argument()
        if is_real(inner) and inner.real < 0 and _is_whole(degree) and int(degree.real) % 2:
            return -_power(-inner, 1 / degree)
        return _power(inner, 1 / degree)

    def function(self, name: str) -> Number:
        base = self.argument() if self.take("_") else None
        exponent = self.exponent() if self.take("^") else None
        self.angle += 1
        inner = self.operand()
        self.angle -= 1
        if name in _INVERSE and exponent is not None and exponent == -1:
            return _apply(_INVERSE[name], inner)
        if name == "log":
            below = self.variable(_BASE) if base is None else _apply("log", base)
            result = _divide(_apply("log", inner), below)
        elif base is not None:
            raise NotAnExpression
        elif name == "abs":
            result = abs(inner)
        elif name in _FUNCTIONS_OF_MPMATH:
            result = _apply(_FUNCTIONS_OF_MPMATH[name], inner)
        else:
            raise NotAnExpression
        return result if exponent is None else _power(result, exponent)

    def operand(self) -> Number:
        r"""What a function is applied to: a group, or factors up to the next function.

        A power after a group is one of the function's value: ``\sin(x)^2``, but ``\sin x^2``.
        """
        if self.peek() in ("(", "{", "["):
            inner = self.base()
            return inner * _mp().pi / 180 if self.take("°") else inner
        inner = self.factor()[0]
        while self.begins_factor() and self.peek()[1:] not in FUNCTIONS:
            inner = _check(inner * self.factor()[0])
        return inner


def _check(number: Number, bits: int = _MOST_BITS) -> Number:
    """``number``, if it is finite and neither too large nor too small."""
    if number == 0:
        return number
    if not _mp().isfinite(number) or abs(int(_mp().mag(number))) > bits:
        raise NotAnExpression
    return number


def _round_to_zero(number: Number) -> Number:
    """``number`` as checked, or 0 if it is only a rounding error."""
    return _mp().zero if number != 0 and _mp().mag(number) < -_BITS else _check(number)


def _divide(one: Number, other: Number) -> Number:
    if other == 0:
        raise NotAnExpression
    return _check(one / other)


def _is_whole(number: Number) -> bool:
    return bool(_mp().isint(number))


def _power(base: Number, exponent: Number) -> Number:
    if base == 0:
        if exponent.real > 0:
            return _mp().zero
        raise NotAnExpression
    if base in (1, -1) and _is_whole(exponent):
        return _mp().mpf(base) ** (int(exponent.real) % 2)
    if abs(exponent) * (abs(int(_mp().mag(base))) + 1) > 2 * _MOST_BITS:
        raise NotAnExpression
    return _check(_mp().power(base, exponent))


def _factorial(number: Number) -> Number:
    if abs(number) > _LARGEST_FACTORIAL or (_is_whole(number) and number.real < 0):
        raise NotAnExpression
    return _check(_mp().factorial(number))


def _binomial(above: Number, below: Number) -> Number:
    if max(abs(above), abs(below)) > _LARGEST_BINOMIAL:
        raise NotAnExpression
    if _is_whole(above) and _is_whole(below) and not 0 <= below.real <= above.real:
        raise NotAnExpression
    return _check(_mp().binomial(above, below))


def _apply(function: str, inner: Number) -> Number:
    """A function of mpmath."""
    if inner == 0 and function.startswith("log"):
        raise NotAnExpression
    if abs(inner) > _LARGEST_ARGUMENT and not function.startswith("log"):
        raise NotAnExpression
    try:
        return _round_to_zero(getattr(_mp(), function)(inner))
    except (ValueError, ZeroDivisionError):
        raise NotAnExpression from None


def _literal(digits: str) -> Number:
    if len(digits) > _DIGITS:
        raise NotAnExpression
    return _check(_mp().mpf("0" + digits.rstrip(".")))
