"""Comparisons of tests that share an interpreter with the program, taken out of its hands.

An object of the program that says of itself that it equals 9 is compared as what it holds, where it
is an integer, or as unequal to all data. Best effort: inside one interpreter a program can do more.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .values import NotData, cast_down

HONEST = "__honest__"
_DECIDING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_METHODS = {
    **dict.fromkeys(("assertEqual", "assertNotEqual", "assertAlmostEqual", "assertListEqual"), 2),
    **dict.fromkeys(("assertNotAlmostEqual", "assertDictEqual", "assertTupleEqual"), 2),
    **dict.fromkeys(("assertSetEqual", "assertSequenceEqual", "assertCountEqual"), 2),
    **dict.fromkeys(("assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"), 2),
    **dict.fromkeys(("assertIn", "assertNotIn", "assertMultiLineEqual"), 2),
}


class HonestComparisons(ast.NodeTransformer):
    """Has what tests compare go through the function :data:`HONEST` first."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if all(isinstance(op, _DECIDING) for op in node.ops):
            node.left = _through(node.left)
            node.comparators = [_through(part) for part in node.comparators]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and (count := _METHODS.get(node.func.attr)):
            node.args[:count] = [_through(arg) for arg in node.args[:count]]
        return node


def honest(program: str) -> Callable[[Any], Any]:
    """The function for the objects whose class the module ``program`` defines."""

    def look(value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            seen = [look(item) for item in value]
            return value if all(map(_same_object, seen, value)) else kind(seen)
        if kind is dict:
            seen = [look(item) for item in value.values()]
            same = all(map(_same_object, seen, value.values()))
            return value if same else dict(zip(value, seen, strict=True))
        if kind.__module__ != program or isinstance(value, type):
            return value
        try:
            return cast_down(value)
        except NotData:
            return _Opaque(value)

    return look


class _Opaque:
    """An object of the program: equal to others of its kind if it says so, never to data."""

    def __init__(self, value: Any):
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Opaque and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __lt__(self, other: Any) -> Any:
        return self._value < other._value if type(other) is _Opaque else NotImplemented

    def __le__(self, other: Any) -> Any:
        return self._value <= other._value if type(other) is _Opaque else NotImplemented

    def __iter__(self) -> Any:
        return iter(self._value)  # for ``in``, which then compares item by item

    def __repr__(self) -> str:
        return repr(self._value)


def _same_object(one: Any, other: Any) -> bool:
    return one is other


def _through(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(HONEST, ast.Load()), [node], []), node)
