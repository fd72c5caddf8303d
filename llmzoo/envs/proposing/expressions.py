"""Sums that agents write: whole numbers, + - * and parentheses, read without being run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmzoo.envs.text import Malformed
from llmzoo.sandbox import syntax

MAX_CHARS = 100
SIGNS = "+-*"
_ALLOWED = re.compile(r"[0-9+\-*() ]+")
_SAME_SIGN = str.maketrans({"×": "*", "·": "*", "−": "-", "–": "-"})
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


@dataclass(frozen=True, slots=True)
class Operation:
    """``left`` and ``right`` joined by ``sign``, one of ``SIGNS``."""

    sign: str
    left: Expression
    right: Expression

    @property
    def value(self) -> int:
        return apply(self.sign, value(self.left), value(self.right))


Expression = int | Operation


def read(text: str) -> Expression:
    """The expression that a text is; raises :class:`Malformed` for anything else."""
    text = text.translate(_SAME_SIGN).strip()
    if len(text) > MAX_CHARS:
        raise Malformed(f"longer than {MAX_CHARS} characters")
    if not _ALLOWED.fullmatch(text):
        raise Malformed("something else than whole numbers, + - * and parentheses")
    try:
        return _of(syntax.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise Malformed("not a sum: write every sign, and close every parenthesis") from None


def apply(sign: str, left: int, right: int) -> int:
    if sign == "+":
        return left + right
    return left - right if sign == "-" else left * right


def value(expression: Expression) -> int:
    return expression if isinstance(expression, int) else expression.value


def operations(expression: Expression) -> Iterator[Operation]:
    """All operations, the innermost first."""
    if isinstance(expression, Operation):
        yield from operations(expression.left)
        yield from operations(expression.right)
        yield expression


def numbers(expression: Expression) -> tuple[int, ...]:
    """The numbers, from left to right."""
    if isinstance(expression, int):
        return (expression,)
    return (*numbers(expression.left), *numbers(expression.right))


def written(expression: Expression, space: str = " ") -> str:
    """The expression as text, with parentheses only where they are needed."""
    if isinstance(expression, int):
        return str(expression)
    left, right = (written(part, space) for part in (expression.left, expression.right))
    if expression.sign == "*" and _is(expression.left, "+-"):
        left = f"({left})"
    if _is(expression.right, {"+": "", "-": "+-", "*": "+-"}[expression.sign]):
        right = f"({right})"
    return f"{left}{space}{expression.sign}{space}{right}"


def normal_form(expression: Expression) -> str:
    """The same text for expressions that differ in the order and the grouping of terms and factors."""
    if isinstance(expression, int):
        return str(expression)
    if expression.sign == "*":
        return "*".join(sorted(_factors(expression)))
    return "".join(sorted(f"{sign}{term}" for sign, term in _terms(expression, "+")))


def _terms(expression: Expression, sign: str) -> Iterator[tuple[str, str]]:
    """The terms of a sum with their signs."""
    if not _is(expression, "+-"):
        yield sign, normal_form(expression)
        return
    assert isinstance(expression, Operation)
    yield from _terms(expression.left, sign)
    same = expression.sign == "+"
    yield from _terms(expression.right, sign if same else "+-"[sign == "+"])


def _factors(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Operation) and expression.sign == "*":
        yield from _factors(expression.left)
        yield from _factors(expression.right)
    else:
        yield f"({normal_form(expression)})"


def _is(expression: Expression, signs: str) -> bool:
    return isinstance(expression, Operation) and expression.sign in signs


def _of(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return Operation(_OPERATORS[type(op)], _of(left), _of(right))
    raise SyntaxError
