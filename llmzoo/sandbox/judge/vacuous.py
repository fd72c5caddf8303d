"""Changes tests so that a check that compared nothing does not pass.

- ``assert all(...)`` and ``assert not any(...)`` need an element.
- A test function, a method and a loop need to reach an assertion.
- A tolerance that lets zero pass for an expected number that is not zero is narrowed to half of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

NOTHING = "nothing was compared"
NOISE = 1e-12  # an expected number up to this size stands for zero
_ABSOLUTE = {"abs", "fabs", "absolute"}


def require_elements(elements: Any) -> Any:
    """The same elements, or the same array. Raises ``AssertionError`` if there are none."""
    if hasattr(type(elements), "shape"):  # an array
        if elements.size == 0:
            raise AssertionError(NOTHING)
        return elements
    return _at_least_one(elements) if hasattr(type(elements), "__iter__") else elements


def _at_least_one(elements: Iterable[Any]) -> Iterator[Any]:
    empty = True
    for element in elements:
        empty = False
        yield element
    if empty:
        raise AssertionError(NOTHING)


class Guards(ast.NodeTransformer):
    """Counts the assertions that are reached, and guards their conditions.

    ``recorder``: the name of an object with the methods ``reach`` and ``require_elements``. ``helpers``: functions
    of the tests, whose own assertions count.
    """

    def __init__(self, recorder: str, helpers: set[str]):
        self._recorder = recorder
        self._helpers = helpers

    def visit_Assert(self, node: ast.Assert) -> Any:
        if isinstance(node.test, ast.Constant) and node.test.value:
            return node
        self.generic_visit(node)
        node.test = self._guard(node.test, True)
        return [self._reach(node), node]

    def visit_If(self, node: ast.If) -> Any:
        raises = any(isinstance(inner, ast.Raise) for inner in node.body)
        self.generic_visit(node)
        return [self._reach(node), node] if raises else node

    def visit_Try(self, node: ast.Try) -> Any:
        tried = ast.Module([*node.body, *node.orelse], [])
        checks = any(
            isinstance(inner, (ast.Assert, ast.Raise)) or self._is_assertion(inner)
            for inner in ast.walk(tried)
        )
        self.generic_visit(node)
        if checks:
            for handler in node.handlers:
                handler.body.insert(0, self._reach(handler))
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        assertion = self._is_assertion(node)
        self.generic_visit(node)
        if not assertion:
            return node
        name = getattr(node.func, "attr", "")
        if name in ("assertTrue", "assertFalse") and node.args:
            node.args[0] = self._guard(node.args[0], name == "assertTrue")
        reached = ast.Tuple([self._reach(node).value, node], ast.Load())
        return _place_at(node, ast.Subscript(reached, ast.Constant(1), ast.Load()))

    def _is_assertion(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute):
            return node.func.attr.startswith("assert") or node.func.attr in ("fail", "raises")
        name = getattr(node.func, "id", "")
        return name.startswith("assert") and name not in self._helpers

    def _guard(self, node: ast.expr, holds: bool) -> ast.expr:
        """A condition that must evaluate to ``holds``, changed to fail if ``all`` or ``any`` gets no elements."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._guard(node.operand, not holds)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And if holds else ast.Or):
            if all(_quantifies(value, holds) for value in node.values):
                node.values = [self._guard(value, holds) for value in node.values]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.Is)):
            right = node.comparators[0]
            if len(node.ops) == 1 and isinstance(right, ast.Constant) and type(right.value) is bool:
                node.left = self._guard(node.left, holds == right.value)
        elif isinstance(node, ast.Call) and _quantifies(node, holds):
            if node.args:
                node.args[0] = self._call_recorder("require_elements", node, node.args[0])
            elif isinstance(node.func, ast.Attribute):
                node.func.value = self._call_recorder("require_elements", node, node.func.value)
        return node

    def _reach(self, near: ast.AST) -> ast.Expr:
        return _place_at(near, ast.Expr(self._call_recorder("reach", near)))

    def _call_recorder(self, method: str, near: ast.AST, *args: ast.expr) -> ast.expr:
        recorder = ast.Name(self._recorder, ast.Load())
        return _place_at(near, ast.Call(ast.Attribute(recorder, method, ast.Load()), [*args], []))


def _quantifies(node: ast.expr, holds: bool) -> bool:
    """Whether a condition is ``all(...)``, or ``any(...)`` that must not hold."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _quantifies(node.operand, not holds)
    called = node.func if isinstance(node, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name == ("all" if holds else "any")


class ToleranceNarrower(ast.NodeTransformer):
    """Narrows tolerances that let zero pass for an expected literal that is not zero."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        sides = {ast.Lt: 0, ast.LtE: 0, ast.Gt: 1, ast.GtE: 1}
        if type(node.ops[0]) not in sides:
            return node
        operands = [node.left, node.comparators[0]]
        size = sides[type(node.ops[0])]  # which of the operands is the distance
        narrow = _narrow(_expected_in_distance(operands[size]), _number(operands[1 - size]))
        if narrow is not None:
            operands[1 - size] = _place_at(node, ast.Constant(narrow))
            node.left, node.comparators = operands[0], [operands[1]]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in ("isclose", "assertAlmostEqual") or len(node.args) < 2:
            return node
        numbers = [n for n in map(_number, node.args[:2]) if n is not None]
        expected = abs(numbers[0]) if len(numbers) == 1 else None
        for keyword in node.keywords:
            given = _number(keyword.value)
            narrow = _narrow(expected, given)
            if keyword.arg in ("abs_tol", "atol", "delta") and narrow is not None:
                keyword.value = _place_at(node, ast.Constant(narrow))
            elif keyword.arg in ("rel_tol", "rtol") and given is not None and given >= 1:
                keyword.value = _place_at(node, ast.Constant(0.5))
            elif keyword.arg == "places" and given is not None:
                narrow = _narrow(expected, 0.5 * 10.0 ** -min(given, 300))
                if narrow is not None:
                    keyword.arg, keyword.value = "delta", _place_at(node, ast.Constant(narrow))
        return node


def _expected_in_distance(node: ast.expr) -> float | None:
    """The size of the number in ``abs(f(3) - number)``, or None for another expression."""
    if not (isinstance(node, ast.Call) and len(node.args) == 1):
        return None
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    inner = node.args[0]
    if name not in _ABSOLUTE or not isinstance(inner, ast.BinOp):
        return None
    if not isinstance(inner.op, ast.Sub):
        return None
    numbers = [n for n in map(_number, (inner.left, inner.right)) if n is not None]
    return abs(numbers[0]) if len(numbers) == 1 else None


def _narrow(expected: float | None, tolerance: float | None) -> float | None:
    """Half of the expected number, if the tolerance lets zero pass for it, else None."""
    if expected is None or tolerance is None or not NOISE < expected <= tolerance:
        return None
    return expected / 2


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    return value if isinstance(value, (int, float)) else None


def _place_at(near: ast.AST, node: Any) -> Any:
    """A new node with the line numbers of another one, also for the nodes inside it."""
    return ast.fix_missing_locations(ast.copy_location(node, near))
