"""Reads a clean text as an exact expression. Nothing is evaluated but sums, products and powers."""

from __future__ import annotations

import re
from fractions import Fraction

from llmzoo.envs.math.answers.polynomials import Beyond, Quotient, TooLarge, atom, number, power
from llmzoo.envs.math.answers.special import (
    absolute,
    binomial,
    factorial,
    literal,
    opaque,
    raised,
    rational_power,
    root,
)

FUNCTIONS = frozenset(
    """sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det gcd lcm max min
    arg abs""".split()  # noqa: SIM905
)
GREEK = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi
    rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi
    Omega ell hbar""".split()  # noqa: SIM905
)
_DEEPEST = 25
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


class Unreadable(Beyond):
    """A text that is no expression."""


def expression(text: str) -> Quotient:
    """The expression that a clean text spells.

    Raises :class:`Beyond` for what is no expression, or not decided here, and :class:`TooLarge`.
    """
    parser = _Parser(text)
    found = parser.sum()
    if parser.rest():
        raise Unreadable(f"unexpected {parser.rest()[:10]!r}")
    return found


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.depth = 0

    def rest(self) -> str:
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at :]

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

    def sum(self) -> Quotient:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooLarge("deeply nested")
        total = self.signed()
        while (sign := self.peek()) in ("+", "-") and sign:
            self.at += 1
            term = self.product()
            total = total + term if sign == "+" else total - term
        self.depth -= 1
        return total

    def signed(self) -> Quotient:
        negative = False
        while (sign := self.peek()) in ("+", "-") and sign:
            self.at += 1
            negative ^= sign == "-"
        product = self.product()
        return -product if negative else product

    def product(self) -> Quotient:
        result = self.factor()
        while True:
            sign = self.peek()
            if sign == "*":
                self.at += 1
                result = result * self.signed_factor()
            elif sign == "/":
                self.at += 1
                result = result / self.signed_factor()
            elif sign and self.begins_factor(sign):
                if sign in _DIGITS and self.text[: self.at].rstrip()[-1:] in _DIGITS:
                    raise Unreadable("two numbers side by side")
                result = result * self.factor()
            else:
                return result

    def signed_factor(self) -> Quotient:
        negative = False
        while (sign := self.peek()) in ("+", "-") and sign:
            self.at += 1
            negative ^= sign == "-"
        factor = self.factor()
        return -factor if negative else factor

    def begins_factor(self, sign: str) -> bool:
        if sign in ("(", "[", "{"):
            return True
        if sign == "|":
            return False  # a bar closes what it opened
        return sign == "\\" or sign.isalnum() or sign == "."

    def factor(self) -> Quotient:
        base = self.base()
        while True:
            sign = self.peek()
            if sign == "^":
                self.at += 1
                base = raised(base, self.exponent())
            elif sign == "!":
                self.at += 1
                base = factorial(base)
            else:
                return base

    def exponent(self) -> Quotient:
        """What follows ``^``; ``2^10`` is read as it is meant, and towers from above."""
        digits = _WHOLE.match(self.text, self.at)
        if digits:
            self.at = digits.end()
            found = literal(digits[1], "")
        else:
            found = self.argument()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TooLarge("a tower of powers")
        if self.take("^"):
            found = raised(found, self.exponent())
        self.depth -= 1
        return found

    def base(self) -> Quotient:
        sign = self.peek()
        if not sign:
            raise Unreadable("nothing follows")
        mixed = _MIXED.match(self.text, self.at)
        if mixed:
            whole, top, bottom = mixed[1], mixed[2] or mixed[4], mixed[3] or mixed[5]
            if max(map(len, (whole, top, bottom))) < 10 and 0 < int(top) < int(bottom):
                self.at = mixed.end()
                return number(int(whole) + Fraction(int(top), int(bottom)))
        found = _NUMBER.match(self.text, self.at)
        if found:
            self.at = found.end()
            if self.peek() == "_":
                raise Beyond("digits of another base")
            return literal(found[1], found[2] or "")
        if sign in ("(", "[", "{", "|"):
            return self.group(sign)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise Unreadable(f"unexpected {sign!r}")
        self.at = name.end()
        if name[2]:
            return self.symbol(name[2])
        return self.command(name[1])

    def group(self, opening: str) -> Quotient:
        self.expect(opening)
        inner = self.sum()
        self.expect(_CLOSING[opening])
        return absolute(inner) if opening == "|" else inner

    def argument(self) -> Quotient:
        """What follows ``^`` or a command: a group, or one sign."""
        sign = self.peek()
        if sign in ("{", "("):
            return self.group(sign)
        if sign.isdecimal():
            self.at += 1
            return number(int(sign))
        if sign == "-":  # as keyboards write it: x^-2
            self.at += 1
            return -self.argument()
        return self.base()

    def symbol(self, name: str) -> Quotient:
        subscript = _SUBSCRIPT.match(self.text, self.at)
        if subscript:
            self.at = subscript.end()
            name += "_" + re.sub(r"\s", "", subscript[1] or subscript[2])
        while self.text.startswith("'", self.at):
            self.at += 1
            name += "'"
        return atom(name)

    def command(self, name: str) -> Quotient:
        if name == "frac":
            return self.argument() / self.argument()
        if name == "sqrt":
            return self.root()
        if name in ("binom", "dbinom", "tbinom"):
            return binomial(self.argument(), self.argument())
        if name in GREEK:
            return self.symbol(name)
        if name in FUNCTIONS:
            return self.function(name)
        raise Unreadable(f"unknown command {name!r}")

    def root(self) -> Quotient:
        degree = 2
        if self.take("["):
            found = re.compile(r"\s*(\d{1,2})\s*\]").match(self.text, self.at)
            if found is None or not int(found[1]):
                raise Unreadable("a root of no degree")
            degree = int(found[1])
            self.at = found.end()
        inner = self.argument()
        return root(inner, Fraction(1, degree))

    def function(self, name: str) -> Quotient:
        subscript = _SUBSCRIPT.match(self.text, self.at)
        if subscript:
            self.at = subscript.end()
            name += "_" + (subscript[1] or subscript[2])
        exponent = self.exponent() if self.take("^") else None
        arguments = [self.factor()]
        while (sign := self.peek()) and self.begins_factor(sign):
            if FUNCTIONS & set(re.findall(r"^\\([a-z]+)", self.text[self.at : self.at + 8])):
                break
            arguments.append(self.factor())
        inner = arguments[0]
        for following in arguments[1:]:
            inner = inner * following
        if name == "abs":
            value = absolute(inner)
        elif name == "exp":
            value = power(atom("e"), rational_power(inner))
        else:
            value = opaque(name, inner)
        return value if exponent is None else raised(value, exponent)
