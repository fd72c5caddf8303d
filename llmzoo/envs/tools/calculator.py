"""The calculator: a parser of its own for arithmetic, exact as long as numbers are rational.

Precedence, from loose to tight: ``+ -``; ``* / // %``; signs; ``^`` (also written ``**``, from the
right: ``2^3^2`` is 512, ``-2^2`` is -4); ``!`` and the percent sign after a number. A ``%`` before
a number, a name or a parenthesis is the remainder, any other the percent sign. ``//``, ``%`` and
``round`` are Python's: they round down, they take the divisor's sign, halves go to even.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmzoo.envs.text import cut
from llmzoo.envs.tools.exact import (
    CONSTANTS,
    FUNCTIONS,
    PRODUCTS,
    CalculationError,
    Number,
    divided,
    factorial,
    number,
    power,
    shown,
    sized,
)
from llmzoo.envs.tools.toolbox import Tool, tool

MAX_CHARS = 1_000  # of an expression
MAX_DEPTH = 50  # of parentheses, functions and powers in each other

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>\*\*|//|[-+*/%^!(),])|(?P<other>\S))"
)
_SAME_SIGN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})


@tool
def calculator(expression: str) -> str:
    """Work out an arithmetic expression, exactly where that is possible. Operators: + - * / //
    (rounded down) % (remainder, or percent after a number) ^ (power) ! and parentheses; constants
    pi and e; functions sqrt, abs, round(x, n), floor, ceil, min, max, log (natural), log10, log2,
    exp, sin, cos, tan, gcd, lcm, factorial.

    Args:
        expression: such as "(12840 - 9310) / 9310 * 100"
    """
    return shown(evaluate(expression))


def calculator_tools() -> tuple[Tool, ...]:
    return (calculator,)


def evaluate(expression: str) -> Number:
    """The value of an expression; raises :class:`CalculationError`."""
    if len(expression) > MAX_CHARS:
        raise CalculationError(f"the expression is longer than {MAX_CHARS} characters")
    try:
        return _Parser(_tokens(expression)).whole()
    except ZeroDivisionError as error:
        raise CalculationError("division by zero") from error
    except OverflowError as error:
        raise CalculationError("a number is too large") from error


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "number", "name", "sign" or "end"
    text: str


_END = _Token("end", "the end")


def _tokens(expression: str) -> list[_Token]:
    tokens = []
    for match in _TOKEN.finditer(expression.translate(_SAME_SIGN)):
        kind = match.lastgroup or ""
        if kind == "other":
            raise CalculationError(f"{match[kind]!r} is not part of arithmetic")
        tokens.append(_Token(kind, match[kind]))
    return [*tokens, _END]


class _Parser:
    """Precedence climbing over tokens; evaluates as it goes."""

    def __init__(self, tokens: list[_Token]):
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def whole(self) -> Number:
        value = self._sum()
        if self._peek() is not _END:
            raise self._unexpected("an operator")
        return value

    def _sum(self) -> Number:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            other = self._product()
            value = sized(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Number:
        value = self._signed()
        while (sign := self._take("*", "/", "//", "%")) is not None:
            value = sized(PRODUCTS[sign](value, self._signed()))
        return value

    def _signed(self) -> Number:
        negative = False
        while (sign := self._take("+", "-")) is not None:
            negative ^= sign == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> Number:
        base = self._postfix()
        if self._take("^", "**") is None:
            return base
        self._deeper()
        exponent = self._signed()
        self._depth -= 1
        return sized(power(base, exponent))

    def _postfix(self) -> Number:
        value = self._primary()
        while True:
            if self._take("!") is not None:
                value = factorial(value)
            elif self._peek().text == "%" and not self._starts_operand(
                self._tokens[self._next + 1]
            ):
                self._next += 1
                value = divided(value, 100)
            else:
                return value

    def _primary(self) -> Number:
        token = self._peek()
        if token.kind == "number":
            self._next += 1
            return number(token.text)
        if token.kind == "name":
            self._next += 1
            return self._named(token.text)
        if self._take("(") is None:
            raise self._unexpected("a number")
        self._deeper()
        value = self._sum()
        self._close()
        return value

    def _named(self, name: str) -> Number:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            known = ", ".join([*CONSTANTS, *FUNCTIONS])
            raise CalculationError(f"unknown name {cut(name, 40)!r}; known are {known}")
        if self._take("(") is None:
            raise self._unexpected(f"'(' after {name}")
        self._deeper()
        arguments = [self._sum()]
        while self._take(",") is not None:
            arguments.append(self._sum())
        self._close()
        least, most, function = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} or more"
            wanted = "1 or 2" if (least, most) == (1, 2) else wanted
            raise CalculationError(f"{name} takes {wanted} numbers, got {len(arguments)}")
        try:
            return sized(function(*arguments))
        except ValueError as error:  # such as the logarithm of a negative number
            raise CalculationError(f"{name} is not defined there") from error

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *signs: str) -> str | None:
        """The next token where it is one of ``signs``, and past it."""
        token = self._peek()
        if token.kind != "sign" or token.text not in signs:
            return None
        self._next += 1
        return token.text

    def _close(self) -> None:
        if self._take(")") is None:
            raise self._unexpected("an operator or ')'")
        self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculationError(f"nested deeper than {MAX_DEPTH}")

    def _starts_operand(self, token: _Token) -> bool:
        return token.kind in ("number", "name") or token.text == "("

    def _unexpected(self, wanted: str) -> CalculationError:
        token = self._peek()
        found = token.text if token is _END else repr(cut(token.text, 40))
        before = "".join(t.text for t in self._tokens[max(self._next - 4, 0) : self._next])
        place = f" after {cut(before, 40)!r}" if before else ""
        hint = "; write numbers without commas" if token.text == "," else ""
        return CalculationError(f"expected {wanted}{place}, got {found}{hint}")
