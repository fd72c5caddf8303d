"""Reads asserts about calls with literal arguments: ``assert f([1, 2]) == 3``.

Such tests need no interpreter. The call is made in the program's process. Its value is plain data and is
compared here as Python's ``assert`` would compare it: ``True == 1``, ``[1] != (1,)``, and NaN equals
nothing. If a text also has other kinds of tests, none of it is read, because the order of tests may matter.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from llmzoo.sandbox import syntax
from llmzoo.sandbox.confine.plain_data import check_keys
from llmzoo.sandbox.judge.isolation_requirements import is_builtin
from llmzoo.sandbox.judge.literals import OPERATORS, Unreadable, evaluate_literal
from llmzoo.sandbox.judge.vacuous import ToleranceNarrower, require_elements
from llmzoo.sandbox.judge.verdicts import CallCase

_NAME_CHARS = 400

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda got, expected: got in expected,
    ast.NotIn: lambda got, expected: got not in expected,
}
_SYMMETRIC = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_SINGLETONS = (None, True, False)
# builtins that a test may apply to the value of a call
_WRAPPERS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (abs, bool, float, int, len, list, max, min, round)},
    **{f.__name__: f for f in (sorted, str, sum, tuple)},
    "all": lambda got: all(require_elements(got)),
    "any": lambda got: any(require_elements(got)),
    "set": lambda got: _make_set(set, got),
    "frozenset": lambda got: _make_set(frozenset, got),
}
# accepted with one argument only: sum(lists, []) takes quadratic time
_ONE_ARGUMENT_ONLY = ("sum", "max", "min")
# by the first wrapper of a call: the stand-in (:mod:`.stand_ins`) to send if its value is not plain data
_STAND_INS = {
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "sorted", *_ONE_ARGUMENT_ONLY), "list"),
    **dict.fromkeys(("all", "any"), "truths"),
    **{name: name for name in ("abs", "bool", "float", "int", "len", "str")},
}


@lru_cache(maxsize=1024)  # the K programs of a group share their tests
def read_call_cases(tests: str, entry_point: str | None) -> tuple[CallCase, ...] | None:
    """The calls of a text in which every test is an assert about one call with literals, else None.

    The asserts are at the top level or in ``check(candidate)``, where ``candidate`` is
    ``entry_point``. Asserts of a true constant are left out.
    """
    try:
        tree = ToleranceNarrower().visit(syntax.parse(tests))
        reader = _Reader(tests, tree, entry_point)
        return tuple(reader.cases()) or None
    except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _holds(steps: Sequence[Callable[[Any], Any]], got: Any) -> bool:
    """Whether a value, which is plain data, is true after these steps."""
    try:
        for step in steps:
            got = step(got)
        return bool(got)
    except (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError):
        return False
    except MemoryError:
        return False


class _Reader:
    """Reads the tests. ``_alias``: the name by which they call ``entry_point``, if they have one."""

    def __init__(self, tests: str, tree: ast.Module, entry_point: str | None):
        self._lines = tests.splitlines()
        self._tree = tree
        self._alias: str | None = None
        self._entry_point = entry_point
        # full names by local name; without an import, math is the standard module too
        self._imported: dict[str, str] = {"math": "math"}
        # names that belong to the program even if they are builtins
        self._redefined_builtins: set[str] = {entry_point} if entry_point else set()
        self._stand_in: tuple[Any, ...] = ()

    def cases(self) -> list[CallCase]:
        check: ast.FunctionDef | None = None
        asserts: list[ast.Assert] = []
        for statement in self._tree.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "check":
                check = statement
            else:
                self._collect_assert(statement, asserts)
        if check is not None:
            if asserts or self._entry_point is None or len(check.args.args) != 1:
                raise Unreadable
            self._alias = check.args.args[0].arg
            for statement in check.body:
                self._collect_assert(statement, asserts)
        elif len(called := {_innermost_call(one.test) for one in asserts}) == 1:
            self._redefined_builtins |= called  # ``assert sum(10, 15) == 6`` calls nothing else
        return [self._case(one) for one in asserts]

    def _collect_assert(self, statement: ast.stmt, asserts: list[ast.Assert]) -> None:
        """Append a statement that is an assert, record an import, and ignore what the tests do not depend on.

        Raises :class:`Unreadable` for any other statement.
        """
        if isinstance(statement, ast.Assert):
            if not (isinstance(statement.test, ast.Constant) and statement.test.value):
                asserts.append(statement)
        elif isinstance(statement, ast.Import):
            for alias in statement.names:
                self._import(alias.name, alias.asname or alias.name.partition(".")[0])
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                name = alias.asname or alias.name
                self._import(f"{statement.module}.{alias.name}", name, statement.level)
        elif isinstance(statement, ast.Assign):
            # METADATA = {...} is ignored; a test that used it would not be readable
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            if names != ["METADATA"]:
                raise Unreadable
        elif isinstance(statement, ast.Expr):
            value = statement.value
            calls_check = isinstance(value, ast.Call) and ast.unparse(value.func) == "check"
            if not (isinstance(value, ast.Constant) or calls_check):
                raise Unreadable
        elif not isinstance(statement, ast.Pass):
            raise Unreadable

    def _import(self, full_name: str, name: str, level: int = 0) -> None:
        if level or full_name.partition(".")[0] not in sys.stdlib_module_names or name == "*":
            raise Unreadable  # the module may be the program
        self._imported[name] = full_name

    def _case(self, statement: ast.Assert) -> CallCase:
        steps: list[Callable[[Any], Any]] = []
        self._stand_in = ()
        call = self._condition(statement.test, steps)
        function = self._function(call)
        if any(keyword.arg is None for keyword in call.keywords):
            raise Unreadable
        lines = self._lines[statement.lineno - 1 : statement.end_lineno]
        return CallCase(
            name=" ".join(line.strip() for line in lines)[:_NAME_CHARS],
            function=function,
            args=tuple(evaluate_literal(arg) for arg in call.args),
            kwargs={str(keyword.arg): evaluate_literal(keyword.value) for keyword in call.keywords},
            is_correct=partial(_holds, steps),
            stand_in=self._stand_in,
        )

    def _condition(self, test: ast.expr, steps: list[Callable[[Any], Any]]) -> ast.Call:
        """The call in a condition. Appends to ``steps`` what the condition does with its value."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            call = self._condition(test.operand, steps)
            steps.append(operator.not_)
            return call
        if isinstance(test, ast.Compare):
            return self._comparison(test, steps)
        if isinstance(test, ast.Call) and self._is_isclose(test.func):
            return self._isclose(test, steps)
        call = self._value(test, steps)
        if not steps:
            self._stand_in = ("bool",)
        return call

    def _comparison(self, test: ast.Compare, steps: list[Callable[[Any], Any]]) -> ast.Call:
        if len(test.ops) != 1:
            raise Unreadable
        kind, left, right = type(test.ops[0]), test.left, test.comparators[0]
        if kind in _SYMMETRIC and not _contains_call_of(left, self._is_from_program):
            left, right = right, left
        expected = evaluate_literal(right)
        if kind in (ast.Is, ast.IsNot) and not any(expected is one for one in _SINGLETONS):
            raise Unreadable  # the identity of other literals depends on the interpreter
        call = self._value(left, steps)
        if not steps and kind in _SYMMETRIC and any(expected is one for one in _SINGLETONS):
            self._stand_in = ("object",)
        compare = _COMPARISONS[kind]
        steps.append(lambda got: compare(got, expected))
        return call

    def _isclose(self, test: ast.Call, steps: list[Callable[[Any], Any]]) -> ast.Call:
        if len(test.args) != 2 or not {k.arg for k in test.keywords} <= {"rel_tol", "abs_tol"}:
            raise Unreadable
        first, second = test.args
        if not _contains_call_of(first, self._is_from_program):
            first, second = second, first
        expected = evaluate_literal(second)
        tolerances = {
            str(keyword.arg): evaluate_literal(keyword.value) for keyword in test.keywords
        }
        call = self._value(first, steps)
        steps.append(lambda got: math.isclose(got, expected, **tolerances))
        return call

    def _value(self, node: ast.expr, steps: list[Callable[[Any], Any]]) -> ast.Call:
        """The call in an expression. Appends to ``steps`` what the expression does with its value."""
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in _WRAPPERS or name in self._redefined_builtins:
                return node
            if not node.args or node.keywords:
                raise Unreadable
            if name in self._imported or (name in _ONE_ARGUMENT_ONLY and len(node.args) > 1):
                raise Unreadable
            more = [evaluate_literal(arg) for arg in node.args[1:]]
            call = self._value(node.args[0], steps)
            if not steps and not more and name in _STAND_INS:
                self._stand_in = (_STAND_INS[name],)
            wrap = _WRAPPERS[name]
            steps.append(lambda got: wrap(got, *more))
            return call
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            more = evaluate_literal(node.right)
            call = self._value(node.left, steps)
            operate = OPERATORS[type(node.op)]
            steps.append(lambda got: operate(got, more))
            return call
        if isinstance(node, ast.Subscript):
            index = evaluate_literal(node.slice)
            call = self._value(node.value, steps)
            if not steps and not isinstance(index, slice):
                self._stand_in = ("item", index)
            steps.append(lambda got: got[index])
            return call
        raise Unreadable

    def _function(self, call: ast.Call) -> str:
        if not isinstance(call.func, ast.Name):
            raise Unreadable
        if self._alias is not None and call.func.id == self._alias and self._entry_point:
            return self._entry_point
        if not self._is_from_program(call.func):
            raise Unreadable
        return call.func.id

    def _is_from_program(self, function: ast.expr) -> bool:
        """Whether a called name comes from the program."""
        if not isinstance(function, ast.Name) or function.id in self._imported:
            return False
        return not is_builtin(function.id) or function.id in self._redefined_builtins

    def _is_isclose(self, function: ast.expr) -> bool:
        first, _, rest = ast.unparse(function).partition(".")
        return f"{self._imported.get(first)}.{rest}".rstrip(".") == "math.isclose"


def _make_set(kind: Callable[[Any], Any], got: Any) -> Any:
    """A set of a program's values. Raises ``NotData`` if their hashes are chosen to collide, which is slow."""
    keys = list(got)
    check_keys(keys)
    return kind(keys)


def _contains_call_of(node: ast.AST, wanted: Callable[[ast.expr], bool]) -> bool:
    return any(isinstance(inner, ast.Call) and wanted(inner.func) for inner in ast.walk(node))


def _innermost_call(test: ast.expr) -> str:
    """The name of the innermost call on the left of a comparison, or ""."""
    node, name = test, ""
    while True:
        if isinstance(node, (ast.Compare, ast.BinOp)):
            node = node.left
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name, node = node.func.id, node.args[0]
        else:
            called = node.func if isinstance(node, ast.Call) else None
            return called.id if isinstance(called, ast.Name) else name
