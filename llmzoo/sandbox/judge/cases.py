"""Splits a text of tests into cases.

A case is an assert at the top level or in the body of ``check(candidate)``; another statement there
that contains asserts (a loop, an ``if``, a ``try``) or calls a helper that does; a function
``test_...()`` without parameters; or a method of a unittest class. After a failed case the next one
is still tried. Asserts of a true constant are not cases. A case that is never reached fails, and so does one
that reaches no assertion (:mod:`.vacuous`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .texts import MAX_TEXT, describe_error
from .vacuous import Guards, ToleranceNarrower, require_elements

RECORDER = "__case__"
NOT_REACHED = "not reached"
_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


Report = Callable[[int, str | None], None]


class Case:
    """A test and its outcome. It is a context manager that records exceptions.

    ``count_assertions``: returns the number of assertions reached so far, which must grow for the case to
    pass. None for a case that is one assertion. ``report`` is called with ``number`` and the error, or None,
    whenever the outcome changes.
    """

    __slots__ = (
        *("_count_assertions", "_count_before", "_has_ended", "_report"),
        *("error", "name", "number"),
    )

    def __init__(
        self,
        name: str,
        number: int,
        report: Report | None,
        count_assertions: Callable[[], int] | None = None,
    ):
        self.name = name
        self.number = number
        self.error: str | None = NOT_REACHED
        self._report = report
        self._count_assertions = count_assertions
        self._count_before = 0
        self._has_ended = False

    @property
    def passed(self) -> bool:
        return self.error is None

    def begin(self) -> None:
        if self._count_assertions is not None:
            self._count_before = self._count_assertions()

    def end(self, error: str | None) -> None:
        """Record that the case has ended. If it ends several times, the first error counts."""
        if (
            error is None
            and self._count_assertions is not None
            and self._count_assertions() == self._count_before
        ):
            error = NOT_REACHED
        if not self._has_ended or (self.passed and error is not None):
            self.error = error
            if self._report is not None:
                self._report(self.number, error)
        self._has_ended = True

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> bool:
        self.end(None if error is None else describe_error(error))
        return True


class Cases:
    """The cases of a text of tests, and its syntax tree, changed to run them. ``report``: see :class:`Case`."""

    def __init__(self, tests: str, report: Report | None = None):
        self.text = tests
        self._report = report
        self._assertion_count = 0  # assertions reached so far
        self._lines = tests.splitlines()
        self.tree = ast.parse(tests, "<tests>")
        self.nodes = list(ast.walk(self.tree))  # before the changes
        self.cases: list[Case] = []
        self.functions: list[str] = []  # test_...() to call
        self.tree.body = _without_main(self.tree.body)
        self._helpers = {
            f.name for f in self.tree.body if isinstance(f, ast.FunctionDef) and _has_assert(f)
        } - {"check"}
        self.check = next((f for f in self.tree.body if _is_function(f, "check")), None)
        called = {_called_name(statement) for statement in self.tree.body}
        self.calls_check = "check" in called
        for function in self.tree.body:
            if _is_test(function) and function.name not in called:  # type: ignore[attr-defined]
                self.functions.append(function.name)  # type: ignore[attr-defined]
        self.unittest = any(isinstance(s, ast.ClassDef) and s.bases for s in self.tree.body)
        self.tree.body = [self._wrap_in_recorder(s) for s in self.tree.body]
        if isinstance(self.check, ast.FunctionDef):
            self.check.body = [self._wrap_in_recorder(s) for s in self.check.body]
        helpers = {n.name for n in self.nodes if isinstance(n, ast.FunctionDef)}
        self.tree = ToleranceNarrower().visit(Guards(RECORDER, helpers).visit(self.tree))

    def __call__(self, index: int) -> Case:
        """A case by its index; the changed tree calls this."""
        return self.cases[index]

    def reach(self) -> None:
        """Called before every assertion of the changed tree."""
        self._assertion_count += 1

    require_elements = staticmethod(require_elements)

    def add(self, name: str, needs_assert: bool = True) -> Case:
        count_assertions = (lambda: self._assertion_count) if needs_assert else None
        case = Case(name[:MAX_TEXT], len(self.cases), self._report, count_assertions)
        self.cases.append(case)
        return case

    def _wrap_in_recorder(self, statement: ast.stmt) -> ast.stmt:
        if not self._is_case(statement):
            return statement
        index = len(self.cases)
        self.add(self._text(statement), needs_assert=not isinstance(statement, ast.Assert))
        here = ast.Call(ast.Name(RECORDER, ast.Load()), [ast.Constant(index)], [])
        around = ast.With([ast.withitem(here)], [])
        for node in ast.walk(around):
            ast.copy_location(node, statement)
        around.body = [statement]
        return around

    def _is_case(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Assert):
            return not (isinstance(statement.test, ast.Constant) and statement.test.value)
        if isinstance(statement, _COMPOUND):
            return _has_assert(statement) or any(
                _called_name(inner) in self._helpers
                for inner in ast.walk(statement)
                if isinstance(inner, ast.stmt)
            )
        return _called_name(statement) in self._helpers

    def _text(self, statement: ast.stmt) -> str:
        last = statement.end_lineno if isinstance(statement, ast.Assert) else statement.lineno
        lines = self._lines[statement.lineno - 1 : last]
        return " ".join(line.strip() for line in lines)[:200]


def _has_assert(statement: ast.AST) -> bool:
    """Whether a statement, or the body of a function, contains an assert that runs with it."""
    todo = list(ast.iter_child_nodes(statement))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Assert):
            return True
        if not isinstance(node, (*_SCOPES, ast.expr)):
            todo.extend(ast.iter_child_nodes(node))
    return False


def _called_name(statement: ast.AST) -> str | None:
    """The function that a statement calls, if it is only a call by name."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    return call.func.id if named else None  # type: ignore[union-attr]


def _without_main(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, with those under ``if __name__ == "__main__"`` but without unittest.main()."""
    flat: list[ast.stmt] = []
    for statement in body:
        names = isinstance(statement, ast.If) and ast.unparse(statement.test)
        if names and names.startswith("__name__ =="):
            flat.extend(statement.body)  # type: ignore[attr-defined]
        else:
            flat.append(statement)
    return [s for s in flat if not _runs_unittest(s)]


def _runs_unittest(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "unittest.main"


def _is_function(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def _is_test(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.FunctionDef) or not statement.name.startswith("test"):
        return False
    arguments = statement.args
    return not (arguments.args or arguments.posonlyargs or arguments.kwonlyargs)
