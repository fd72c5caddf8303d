"""Comparisons of tests that share an interpreter with the program, taken out of its hands.

Only objects of classes that were there before the program compare by their own methods. What it
makes is compared as what it holds, where it is an integer, or as unequal to all data. Best effort:
inside one interpreter a program can do more.
"""

from __future__ import annotations

import ast
import sys
from collections import UserDict, UserList, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..confine.values import NotData, cast_down

HONEST = "__honest__"
_DECIDING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_METHODS = {
    **dict.fromkeys(("assertEqual", "assertNotEqual", "assertAlmostEqual", "assertListEqual"), 2),
    **dict.fromkeys(("assertNotAlmostEqual", "assertDictEqual", "assertTupleEqual"), 2),
    **dict.fromkeys(("assertSetEqual", "assertSequenceEqual", "assertCountEqual"), 2),
    **dict.fromkeys(("assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"), 2),
    **dict.fromkeys(("assertIn", "assertNotIn", "assertMultiLineEqual"), 2),
    **dict.fromkeys(("isclose", "allclose", "array_equal", "array_equiv", "assert_equal"), 2),
    **dict.fromkeys(("assert_allclose", "assert_array_equal", "assert_almost_equal"), 2),
    **dict.fromkeys(("assert_array_almost_equal", "assert_approx_equal"), 2),
}
Look = Callable[[Any], Any]


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
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if count := _METHODS.get(name):
            node.args[:count] = [_through(arg) for arg in node.args[:count]]
        return node


def classes() -> dict[int, type]:
    """All classes that there are now, by their identity: what a class says of itself is its own word."""
    found: dict[int, type] = {id(object): object}
    todo: list[type] = [object]
    while todo:
        below: list[type] = type.__subclasses__(todo.pop())
        for kind in below:
            if id(kind) not in found:
                found[id(kind)] = kind
                todo.append(kind)
    return found


def honest(known: dict[int, type]) -> Look:
    """The function for objects of classes of which ``known`` are believed."""

    def look(value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            seen = [look(item) for item in value]
            return value if all(map(_same_object, seen, value)) else kind(seen)
        if kind is dict:
            pairs = [(look(key), look(item)) for key, item in value.items()]
            kept = [item for pair in value.items() for item in pair]
            same = all(map(_same_object, [item for pair in pairs for item in pair], kept))
            return value if same else dict(pairs)
        if id(kind) not in known:
            try:
                return look(cast_down(value))
            except NotData:
                return _Opaque(value)
        held = _held(value)
        if held is None:
            return value
        seen = look(held)
        return value if seen is held else seen

    return look


def _held(value: Any) -> Any:
    """What a container of a library holds, as a builtin one; it compares by its elements' methods."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return cast_down(value)
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, (UserDict, UserList)):
        return value.data
    if isinstance(value, SimpleNamespace):
        return vars(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.hasobject:
        return value.tolist()
    return None


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
