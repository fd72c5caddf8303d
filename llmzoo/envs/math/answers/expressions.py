r"""Reads a clean text as an expression and computes it. No text is evaluated as Python.

Variables have values at a few points; two expressions that agree at all of them are the same. All
variables are positive at some of the points, and one of them is negative at the others, where only
real values count: ``\sqrt{x^2}`` is not ``x``, but ``\sqrt{x}\sqrt{y}`` is ``\sqrt{xy}``. The base
of a ``\log`` without one is not known: ``\log 8 / \log 2`` is 3 in any base, ``\log 100`` has no
value that it shares with a number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from llmzoo.envs.math.answers import arithmetic
from llmzoo.envs.math.answers.arithmetic import Beyond, Number, TooLarge, mp

FUNCTIONS = frozenset(
    """sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det gcd lcm max min
    arg abs""".split()  # noqa: SIM905
)
GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi
    rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi
    Omega ell hbar""".split()  # noqa: SIM905
)
_COMPUTED = {
    **dict.fromkeys(("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "exp"), ""),
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log", "lg": "log10"},
}
_INVERSE = {"sin": "asin", "cos": "acos", "tan": "atan"}
_CALLED = frozenset("fgh")  # before a bracket a function, and not a factor
_DEEPEST = 25
_LARGEST_ARGUMENT = 10**6
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+)(?![A-Za-z]))?")
_WHOLE = re.compile(r"\s*(\d+(?:\.\d+)?)")
_MIXED = re.compile(
    r"(\d+)(?:\s*\\frac\s*\{?\s*(\d+)\s*\}?\s*\{?\s*(\d+)\s*\}?|\s+(\d+)\s*/\s*(\d+))"
)
_NAME = re.compile(r"\\([A-Za-z]+)|([A-Za-zα-ωΑ-Ω])")
_SUBSCRIPT = re.compile(r"\s*_\s*(?:\{([^{}]{1,40})\}|\\?([A-Za-z]+|\d))")
_DIGITS = frozenset("0123456789.")
_BLANK = re.compile(r"\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}", r"\{": r"\}", "|": "|"}
_MOST_VARIABLES = 5
_MOST_CHARACTERS = 5  # digits of an exponent
_SCALES = tuple(map(Fraction, ("1", "1/8", "4", "1/2", "16", "1/40")))
_BASE = "log"  # the unknown base of a logarithm, as a variable

# The value of a variable at a point
Point = Callable[[str], Number]


class Unreadable(Beyond):
    """A text that is no expression."""


def same_value(one: str, other: str) -> bool | None:
    """Whether two clean texts are the same function of the variables of the first; None where either
    is no expression, or has no value. Raises :class:`TooLarge`."""
    ours, theirs = at_points(one), at_points(other)
    if ours is None or theirs is None:
        return None
    names = names_in(one)
    if names_in(other) - names - {_BASE} or not arithmetic.close(ours[0], theirs[0]):
        return False
    names |= names_in(other)
    return not names or _agree(values(one, names), values(other, names))


def same_equation(one: tuple[str, str], other: tuple[str, str]) -> float | None:
    """The constant factor, 0.0 where there is none, between the differences of the sides of two
    relations; None where that is not decided here. Raises :class:`TooLarge`."""
    if any(at_points(side) is None for side in (*one, *other)):
        return None
    names = frozenset[str]().union(*map(names_in, (*one, *other)))
    ours, theirs = (
        [
            None if left is None or right is None else arithmetic.added(left, -right)
            for left, right in zip(*(values(side, names) for side in sides), strict=True)
        ]
        for sides in (one, other)
    )
    factor: Number = None
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            continue
        if arithmetic.is_zero(a) or arithmetic.is_zero(b):
            return 0.0  # holds everywhere, and says nothing
        ratio = arithmetic.divided(a, b)
        if not arithmetic.is_real(ratio) or (
            factor is not None and not arithmetic.close(factor, ratio)
        ):
            return 0.0
        factor = ratio
    return None if factor is None else float(arithmetic.real(factor).real)


@lru_cache(maxsize=4096)
def at_points(text: str) -> tuple[Number, ...] | None:
    """The value of a clean text where all its variables are positive; None where it has none."""
    try:
        return (_Parser(text, _point(_SCALES[0])).whole(),)
    except Beyond:
        return None


def value(text: str) -> Number:
    """The number that a clean text without variables spells; None for all others."""
    found = at_points(text)
    return None if found is None or names_in(text) else found[0]


@lru_cache(maxsize=4096)
def names_in(text: str) -> frozenset[str]:
    """The variables of a clean text that can be read."""
    parser = _Parser(text, _point(_SCALES[0]))
    parser.whole()
    return frozenset(parser.names)


def values(text: str, names: frozenset[str]) -> list[Number]:
    """The values of a clean text at all points for these variables; None where it has none."""
    points = [_point(scale) for scale in _SCALES]
    for name in sorted(names - {_BASE})[:_MOST_VARIABLES]:
        points += [_point(scale, name) for scale in _SCALES[:4]]
    found: list[Number] = []
    for point in points:
        try:
            found.append(_Parser(text, point).whole())
        except (Beyond, TooLarge):
            found.append(None)
    return found


def _agree(ours: list[Number], theirs: list[Number]) -> bool:
    """Whether values are equal at the positive points, and at the others where both are real."""
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            continue
        counts = number < len(_SCALES) or (arithmetic.is_real(a) and arithmetic.is_real(b))
        if counts and not arithmetic.close(a, b):
            return False
    return True


@lru_cache(maxsize=1024)
def _drawn(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) | 1


def _point(scale: Fraction, negated: str = "") -> Point:
    """Values between 0.3 and 2.3 times ``scale``, of which one may be negative."""

    def at(name: str) -> Number:
        size = mp().mpf(_drawn(f"{name} {scale}")) / 2**63 + mp().mpf(3) / 10
        return arithmetic.times(-size if name == negated else size, scale)

    return at


class _Parser:
    def __init__(self, text: str, point: Point):
        self.text = text
        self.point = point
        self.names: set[str] = set()
        self.at = 0
        self.depth = 0
        self.angle = 0  # how many trigonometric functions stand around

    def whole(self) -> Number:
        """The value of the whole text. Raises :class:`Beyond` and :class:`TooLarge`."""
        found = self.sum()
        if self.peek():
            raise Unreadable(f"unexpected {self.text[self.at :][:10]!r}")
        return found

    def peek(self) -> str:
        """The next character, or the next two where they are a bracket of a set."""
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        following = self.text[self.at : self.at + 2]
        return following if following in (r"\{", r"\}") else following[:1]

    def take(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self.at += len(sign)
        return True

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise Unreadable(f"{sign!r} is missing")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooLarge("deeply nested")

    def sum(self) -> Number:
        self.deeper()
        total = self.signed(self.product)
        while (sign := self.peek()) in ("+", "-") and sign:
            self.at += 1
            term = self.product()
            total = arithmetic.added(total, term if sign == "+" else -term)
        self.depth -= 1
        return total

    def signed(self, read: Callable[[], Number]) -> Number:
        negative = False
        while (sign := self.peek()) in ("+", "-") and sign:
            self.at += 1
            negative ^= sign == "-"
        found = read()
        return -found if negative else found

    def product(self) -> Number:
        result, was_power = self.factor()
        while True:
            sign = self.peek()
            if sign in ("*", "/") and sign:
                self.at += 1
                factor = self.signed(lambda: self.factor()[0])
                was_power = False
                result = (arithmetic.times if sign == "*" else arithmetic.divided)(result, factor)
            elif sign and self.begins_factor(sign):
                beside = self.text[: self.at].rstrip()[-1:]
                if sign in _DIGITS and beside in _DIGITS and not was_power:
                    raise Unreadable("two numbers side by side")
                factor, was_power = self.factor()
                result = arithmetic.times(result, factor)
            else:
                return result

    def begins_factor(self, sign: str) -> bool:
        if sign in ("(", "[", "{"):
            return True
        # a bar closes what it opened
        return sign != "|" and (sign == "\\" or sign.isalnum() or sign == ".")

    def factor(self) -> tuple[Number, bool]:
        """A factor with its powers, and whether it has any."""
        base, was_power = self.base(), False
        while True:
            sign = self.peek()
            if sign == "^":
                self.at += 1
                base, was_power = arithmetic.power(base, self.exponent()), True
            elif sign == "!":
                self.at += 1
                if self.text.startswith("!", self.at):
                    raise Beyond("a double factorial")
                base = arithmetic.factorial(base)
            elif sign == "°" and self.angle:
                self.at += 1
                base = arithmetic.times(base, mp().pi / 180)
            else:
                return base, was_power

    def exponent(self) -> Number:
        """What follows ``^``; ``2^10`` is read as it is meant, and towers from above."""
        self.deeper()
        digits = _WHOLE.match(self.text, self.at)
        if digits:
            self.at = digits.end()
            found = _literal(digits[1], "")
        else:
            found = self.argument()
        if self.take("^"):
            found = arithmetic.power(found, self.exponent())
        self.depth -= 1
        return found

    def base(self) -> Number:
        sign = self.peek()
        if not sign:
            raise Unreadable("nothing follows")
        mixed = _MIXED.match(self.text, self.at)
        if mixed:
            whole, top, bottom = mixed[1], mixed[2] or mixed[4], mixed[3] or mixed[5]
            if max(map(len, (whole, top, bottom))) < 10 and 0 < int(top) < int(bottom):
                self.at = mixed.end()
                return int(whole) + Fraction(int(top), int(bottom))
        found = _NUMBER.match(self.text, self.at)
        if found:
            self.at = found.end()
            if self.peek() == "_":
                raise Beyond("digits of another base")
            return _literal(found[1], found[2] or "")
        if sign in ("(", "[", "{", "|"):
            return self.group(sign)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise Unreadable(f"unexpected {sign!r}")
        self.at = name.end()
        if name[1]:
            return self.command(name[1])
        if name[2] in _CALLED and self.peek() == "(":
            return self.called(name[2])
        return self.symbol(name[2])

    def group(self, opening: str) -> Number:
        self.expect(opening)
        inner = self.sum()
        self.expect(_CLOSING[opening])
        return abs(inner) if opening == "|" else inner

    def argument(self) -> Number:
        """What follows ``^`` or a command: a group, or one sign."""
        sign = self.peek()
        if sign in ("{", "("):
            return self.group(sign)
        if sign.isdecimal():
            self.at += 1
            return Fraction(int(sign))
        if sign == "-":  # as keyboards write it: x^-2
            self.at += 1
            self.deeper()
            found = -self.argument()
            self.depth -= 1
            return found
        return self.base()

    def variable(self, name: str) -> Number:
        self.names.add(name)
        return self.point(name)

    def symbol(self, name: str) -> Number:
        subscript = _SUBSCRIPT.match(self.text, self.at)
        if subscript:
            self.at = subscript.end()
            name += "_" + re.sub(r"\s", "", subscript[1] or subscript[2])
        while self.text.startswith("'", self.at):
            self.at += 1
            name += "'"
        if name == "π":
            return +mp().pi
        if name == "e":
            return +mp().e
        if name == "i":
            return mp().mpc(0, 1)
        return self.variable(name)

    def called(self, name: str) -> Number:
        """``f(x)``: some function of its argument, like no other."""
        inner = arithmetic.times(self.group("("), self.variable(f"{name}()"))
        return arithmetic.added(mp().sin(arithmetic.real(inner)), self.variable(f"{name}()"))

    def command(self, name: str) -> Number:
        if name == "frac":
            top = self.argument()
            return arithmetic.divided(top, self.argument())
        if name == "sqrt":
            return self.root()
        if name in ("binom", "dbinom", "tbinom"):
            above = self.argument()
            return arithmetic.binomial(above, self.argument())
        if name in GREEK:
            return self.symbol(name)
        if name in FUNCTIONS:
            return self.function(name)
        raise Unreadable(f"unknown command {name!r}")

    def root(self) -> Number:
        degree = Fraction(2)
        if self.take("["):
            degree = self.sum()
            self.expect("]")
            if not isinstance(degree, Fraction) or degree < 1:
                raise Unreadable("a root of no degree")
        return arithmetic.power(self.argument(), 1 / degree)

    def function(self, name: str) -> Number:
        base = None
        if self.take("_"):
            base = self.argument()
        exponent = self.exponent() if self.take("^") else None
        self.angle += name in _COMPUTED
        inner = self.operand()
        self.angle -= name in _COMPUTED
        if name in _INVERSE and exponent == -1:
            return self.applied(_INVERSE[name], inner)
        found = self.computed(name, inner, base)
        return found if exponent is None else arithmetic.power(found, exponent)

    def operand(self) -> Number:
        r"""What a function is applied to: a group, or factors up to the next function.

        A power after a group is one of the function's value: ``\sin(x)^2``, but ``\sin x^2``.
        """
        if self.peek() in ("(", "{", "["):
            inner = self.base()
            return arithmetic.times(inner, mp().pi / 180) if self.take("°") else inner
        inner = self.factor()[0]
        while (sign := self.peek()) and self.begins_factor(sign):
            if FUNCTIONS & set(re.findall(r"^\\([a-z]+)", self.text[self.at : self.at + 8])):
                break
            inner = arithmetic.times(inner, self.factor()[0])
        return inner

    def computed(self, name: str, inner: Number, base: Number) -> Number:
        if name == "abs":
            return abs(inner)
        if name == "log":
            natural = self.applied("log", inner)
            if base is None:
                return arithmetic.times(natural, self.variable(_BASE))
            return arithmetic.divided(natural, self.applied("log", base))
        if base is not None or name not in _COMPUTED:
            raise Beyond(f"{name} is not computed here")
        return self.applied(_COMPUTED[name] or name, inner)

    def applied(self, function: str, inner: Number) -> Number:
        """A function of mpmath."""
        if abs(arithmetic.real(inner)) > _LARGEST_ARGUMENT and function not in ("log", "log10"):
            raise TooLarge("a function of a large number")
        if function.startswith("log") and arithmetic.is_zero(inner):
            raise Beyond("a logarithm of zero")
        try:
            found = getattr(mp(), function)(arithmetic.real(inner))
        except (ValueError, ZeroDivisionError) as error:
            raise Beyond(str(error)) from None
        if function.startswith("log") and arithmetic.is_zero(found):
            return Fraction(0)
        return arithmetic.checked(found)


def _literal(digits: str, exponent: str) -> Fraction:
    if len(digits) > 1_000 or len(exponent) > _MOST_CHARACTERS or abs(int(exponent or 0)) > 1_000:
        raise TooLarge("a number of more than a thousand digits")
    return arithmetic.checked(
        Fraction(digits.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0)
    )
