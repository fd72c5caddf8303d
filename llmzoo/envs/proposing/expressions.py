"""Sums that agents write: whole numbers, + - * and parentheses, read without being run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmzoo.envs.text import MalformedError
from llmzoo.sandbox import syntax

MAX_CHARS = 100
SIGNS = "+-*"
_ALLOWED = re.compile(r"[0-9+\-*() ]+")
_SAME_SIGN = str.maketrans({"×": "*", "·": "*", "−": "-", "–": "-"})
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """``left`` and ``right`` joined by ``sign``, one of ``SIGNS``."""

    sign: str
    left: Expression
    right: Expression

    @property
    def value(self) -> int:
        return apply_sign(self.sign, evaluate(self.left), evaluate(self.right))


Expression = int | BinaryOperation


def parse_expression(text: str) -> Expression:
    """The expression that a text is; raises :class:`MalformedError` for anything else."""
    text = text.translate(_SAME_SIGN).strip()
    if len(text) > MAX_CHARS:
        raise MalformedError(f"longer than {MAX_CHARS} characters")
    if not _ALLOWED.fullmatch(text):
        raise MalformedError("something else than whole numbers, + - * and parentheses")
    try:
        return _from_ast(syntax.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise MalformedError("not a sum: write every sign, and close every parenthesis") from None


def apply_sign(sign: str, left: int, right: int) -> int:
    if sign == "+":
        return left + right
    return left - right if sign == "-" else left * right


def evaluate(expression: Expression) -> int:
    return expression if isinstance(expression, int) else expression.value


def operations(expression: Expression) -> Iterator[BinaryOperation]:
    """All operations, the innermost first."""
    if isinstance(expression, BinaryOperation):
        yield from operations(expression.left)
        yield from operations(expression.right)
        yield expression


def numbers(expression: Expression) -> tuple[int, ...]:
    """The numbers, from left to right."""
    if isinstance(expression, int):
        return (expression,)
    return (*numbers(expression.left), *numbers(expression.right))


def format_expression(expression: Expression, space: str = " ") -> str:
    """The expression as text, with parentheses only where they are needed."""
    if isinstance(expression, int):
        return str(expression)
    left, right = (format_expression(part, space) for part in (expression.left, expression.right))
    if expression.sign == "*" and _is_operation(expression.left, "+-"):
        left = f"({left})"
    if _is_operation(expression.right, {"+": "", "-": "+-", "*": "+-"}[expression.sign]):
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
    if not _is_operation(expression, "+-"):
        yield sign, normal_form(expression)
        return
    assert isinstance(expression, BinaryOperation)
    yield from _terms(expression.left, sign)
    same = expression.sign == "+"
    yield from _terms(expression.right, sign if same else "+-"[sign == "+"])


def _factors(expression: Expression) -> Iterator[str]:
    if isinstance(expression, BinaryOperation) and expression.sign == "*":
        yield from _factors(expression.left)
        yield from _factors(expression.right)
    else:
        yield f"({normal_form(expression)})"


def _is_operation(expression: Expression, signs: str) -> bool:
    return isinstance(expression, BinaryOperation) and expression.sign in signs


def _from_ast(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return BinaryOperation(_OPERATORS[type(op)], _from_ast(left), _from_ast(right))
    raise SyntaxError
