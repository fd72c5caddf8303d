"""Evaluates expressions of literals in trusted tests.

Beyond ``ast.literal_eval``, they may contain arithmetic and constructors of builtin types, as in
``10 ** 9 + 7``, ``[0] * 5``, ``set([1, 2])`` and ``float("inf")``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_MAX_SIZE = 100_000  # elements, characters or bits of a value
_MAKERS: dict[str, Callable[..., Any]] = {
    maker.__name__: maker
    for maker in (set, frozenset, list, tuple, dict, sorted, float, int, complex, bytes, str)
}
OPERATORS: dict[type[ast.operator | ast.unaryop], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


class Unreadable(Exception):
    """An expression does not consist of literals."""


def evaluate_literal(node: ast.expr) -> Any:
    """The value of an expression of literals. Raises :class:`Unreadable`."""
    if isinstance(node, ast.Constant):
        if node.value is Ellipsis:
            raise Unreadable
        return node.value
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return _attempt(kind, [evaluate_literal(item) for item in node.elts])
    if isinstance(node, ast.Dict):
        if any(key is None for key in node.keys):
            raise Unreadable
        pairs = zip(node.keys, node.values, strict=True)
        items = [(evaluate_literal(key), evaluate_literal(value)) for key, value in pairs]  # type: ignore[arg-type]
        return _attempt(dict, items)
    if isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else evaluate_literal(bound) for bound in bounds))
    if isinstance(node, ast.UnaryOp):
        return _attempt(OPERATORS[type(node.op)], evaluate_literal(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = evaluate_literal(node.left), evaluate_literal(node.right)
        _check_size(type(node.op), left, right)
        return _attempt(OPERATORS[type(node.op)], left, right)
    if isinstance(node, ast.Call) and not node.keywords:
        maker = _MAKERS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if maker is not None:
            return _attempt(maker, *[evaluate_literal(arg) for arg in node.args])
    raise Unreadable


def _attempt(make: Callable[..., Any], *parts: Any) -> Any:
    try:
        return make(*parts)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Unreadable from error  # the tests would raise it too


def _check_size(kind: type[ast.operator], left: Any, right: Any) -> None:
    """Refuse powers and repetitions that are larger than any test needs."""
    size: float = 0
    if kind is ast.Mult:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, int) and isinstance(other, (str, bytes, list, tuple)):
                size = one * len(other)
    elif kind is ast.Pow and isinstance(left, int) and isinstance(right, (int, float)):
        size = left.bit_length() * abs(right)
    if size > _MAX_SIZE:
        raise Unreadable
