"""Makes comparisons independent of the program in tests that share its interpreter.

Only objects of classes that existed before the program compare by their own methods. Instances of the
program's classes compare by the builtin value that they hold, or as unequal to all data. Within one
interpreter a program can still get around this.
"""

from __future__ import annotations

import ast
import sys
from collections import UserDict, UserList, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..confine.plain_data import NotData, to_builtin

OPERAND_GUARD = "__guard_operand__"
_DECIDING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
# methods and functions that compare their first two arguments
_COMPARING = {
    *("assertEqual", "assertNotEqual", "assertAlmostEqual", "assertNotAlmostEqual", "assertIn"),
    *("assertNotIn", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"),
    *("assertSequenceEqual", "assertCountEqual", "assertMultiLineEqual", "assertGreater"),
    *("assertGreaterEqual", "assertLess", "assertLessEqual", "isclose", "allclose", "array_equal"),
    *("array_equiv", "assert_equal", "assert_allclose", "assert_array_equal"),
    *("assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal"),
}
OperandGuard = Callable[[Any], Any]


class SafeComparisons(ast.NodeTransformer):
    """Passes the operands of comparisons through the function named :data:`OPERAND_GUARD`."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if all(isinstance(op, _DECIDING) for op in node.ops):
            node.left = _guard_operand(node.left)
            node.comparators = [_guard_operand(part) for part in node.comparators]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _COMPARING:
            node.args[:2] = [_guard_operand(arg) for arg in node.args[:2]]
        return node


def existing_classes() -> dict[int, type]:
    """All existing classes, by ``id``, because a class may override its own comparison."""
    known: dict[int, type] = {id(object): object}
    todo: list[type] = [object]
    while todo:
        below: list[type] = type.__subclasses__(todo.pop())
        for kind in below:
            if id(kind) not in known:
                known[id(kind)] = kind
                todo.append(kind)
    return known


def make_operand_guard(known: dict[int, type]) -> OperandGuard:
    """The function that leaves objects of ``known`` classes as they are and wraps others."""

    def guard(value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            seen = [guard(item) for item in value]
            return value if all(map(_is_same_object, seen, value)) else kind(seen)
        if kind is dict:
            pairs = [(guard(key), guard(item)) for key, item in value.items()]
            kept = [item for pair in value.items() for item in pair]
            same = all(map(_is_same_object, [item for pair in pairs for item in pair], kept))
            return value if same else dict(pairs)
        if id(kind) not in known:
            try:
                return guard(to_builtin(value))
            except NotData:
                return _Opaque(value)
        content = _builtin_content(value)
        if content is None:
            return value
        seen = guard(content)
        return value if seen is content else seen

    return guard


def _builtin_content(value: Any) -> Any:
    """The content of a library's container as a builtin container, or None for other objects."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return to_builtin(value)
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
    """An object of the program. It is never equal to data; its class decides about other objects."""

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
        return iter(self._value)  # ``in`` then compares item by item

    def __repr__(self) -> str:
        return repr(self._value)


def _is_same_object(one: Any, other: Any) -> bool:
    return one is other


def _guard_operand(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(OPERAND_GUARD, ast.Load()), [node], []), node)
