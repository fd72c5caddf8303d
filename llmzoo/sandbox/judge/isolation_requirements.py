"""Finds what tests need: names of the program, names of libraries, or the program's interpreter.

Tests are often written as if they followed the program in the same file. A name that they neither
define nor import comes from the program. The exception is a name of a standard module, such as
``math``: it means that module. Otherwise a program could supply its own ``math.isclose``.

Some tests cannot be judged with the program in another process. Only the source of the tests
decides which: a program that could influence this would choose the weaker isolation.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# module names under which tests import the program, in addition to modules that do not exist
_PROGRAM_MODULES = {"candidate", "solution", "program", "main", "__main__"}
_ALIASES = {
    "np": "numpy",
    "pd": "pandas",
    "ET": "xml.etree.ElementTree",
    "dt": "datetime",
    "mock": "unittest.mock",
}
# libraries whose functions tests may use without an import, because the program has imported them
_LIBRARIES = (
    *("math", "collections", "datetime", "itertools", "functools", "decimal", "fractions", "copy"),
    *("typing", "re", "heapq", "bisect", "statistics", "random", "string", "io", "unittest.mock"),
    *("numpy", "numpy.testing"),
)


@dataclass
class Uses:
    """How tests use names.

    ``undefined``: names that the tests read but do not define. ``attributes``: the attributes that
    they read from each name. ``called``: names that they call. ``imported``: maps each name
    imported from the program to its name there. ``modules``: names under which the tests import the
    program as a module.
    """

    undefined: set[str] = field(default_factory=set)
    attributes: dict[str, set[str]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)


def read_uses(tree: ast.Module, nodes: Sequence[ast.AST]) -> Uses:
    """How tests use names. Removes imports of the program from ``tree``, which has ``nodes``."""
    uses = Uses()
    _extract_imports(tree.body, uses)
    defined = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            defined.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            defined.update((a.asname or a.name).partition(".")[0] for a in statement.names)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if not node.id.startswith("__"):
                uses.undefined.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.attributes.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            uses.called.add(node.func.id)
    uses.undefined -= defined
    uses.undefined.update(uses.imported.values())
    return uses


def standard_object(name: str, uses: Uses) -> Any | None:
    """The standard-library object that a name means in the tests, or None.

    In ``datetime.date.today()``, ``datetime`` is the module. In ``datetime.now()``, it is the
    class.
    """
    attributes = uses.attributes.get(name, set())
    module_name = _ALIASES.get(name, name)
    if name not in _ALIASES and name not in sys.stdlib_module_names:
        return None
    if not attributes:
        return None  # a function that happens to have this name
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return None
    if name not in uses.called and all(hasattr(module, attribute) for attribute in attributes):
        return module
    return vars(module).get(name)


def library_object(name: str) -> Any | None:
    """A function or class with this name in one of ``_LIBRARIES`` that is loaded, or None."""
    for module in _LIBRARIES:
        if module in sys.modules and name in vars(sys.modules[module]):
            return vars(sys.modules[module])[name]
    return None


def is_builtin(name: str) -> bool:
    return hasattr(builtins, name)


def builtins_under_test(nodes: Sequence[ast.AST], uses: Uses) -> set[str]:
    """The builtin that the program must redefine, because the asserts call nothing else.

    For example, ``assert sum(10, 15) == 6``. The set has one name or none.
    """
    asserts = [node for node in nodes if isinstance(node, ast.Assert)]
    if not asserts or not all(is_builtin(name) for name in uses.undefined):
        return set()
    called = [outermost_call(node.test) for node in asserts]
    return set(called) if len(set(called)) == 1 and called[0] else set()  # type: ignore[arg-type]


def outermost_call(test: ast.expr) -> str | None:
    """The function that an assert calls, on the left if it is a comparison; None if none."""
    if isinstance(test, ast.Compare):
        test = test.left
    named = isinstance(test, ast.Call) and isinstance(test.func, ast.Name)
    return test.func.id if named else None  # type: ignore[attr-defined]


def _extract_imports(body: list[ast.stmt], uses: Uses) -> None:
    for statement in list(body):
        if isinstance(statement, ast.ImportFrom):
            if not statement.level and not _is_program(statement.module or ""):
                continue
            for alias in statement.names:
                if alias.name != "*":
                    uses.imported[alias.asname or alias.name] = alias.name
            body.remove(statement)
        elif isinstance(statement, ast.Import):
            program_aliases = [alias for alias in statement.names if _is_program(alias.name)]
            uses.modules.update(alias.asname or alias.name for alias in program_aliases)
            statement.names = [alias for alias in statement.names if alias not in program_aliases]
            if not statement.names:
                body.remove(statement)


def _is_program(module: str) -> bool:
    root = module.partition(".")[0]
    if root in _PROGRAM_MODULES:
        return True
    if root in sys.stdlib_module_names or root in sys.modules:
        return False
    try:
        return importlib.util.find_spec(root) is None
    except (ImportError, ValueError, OSError):
        return True


# modules and methods with which tests change or inspect the interpreter that they run in
_INTERPRETER_MODULES = {
    "inspect": "inspects code",
    "asyncio": "awaits the program",
    "threading": "calls the program from threads",
    "concurrent": "calls the program from threads",
    "multiprocessing": "calls the program from processes",
    "pickle": "pickles the program's objects",
    "gc": "inspects memory",
    "weakref": "inspects memory",
}
_INTERPRETER_METHODS = {
    "assertLogs": "catches the program's logs",
    "assertNoLogs": "catches the program's logs",
    "assertWarns": "catches the program's warnings",
    "assertWarnsRegex": "catches the program's warnings",
    "catch_warnings": "catches the program's warnings",
    "environ": "changes the environment",
    "chdir": "changes the working folder",
}
_PATCHABLE = ("builtins.input", "builtins.print", "sys.stdout", "sys.stdin", "sys.stderr")


def shared_interpreter_reason(tests: str) -> str | None:
    """Why tests must run in the program's interpreter, or None if another process can run them."""
    tree = ast.parse(tests)
    nodes = list(ast.walk(tree))
    return shared_interpreter_reason_from_nodes(nodes, read_uses(tree, nodes).undefined)


def shared_interpreter_reason_from_nodes(
    nodes: Sequence[ast.AST], program_names: set[str]
) -> str | None:
    """Why tests with these syntax nodes must run in the program's interpreter, or None.

    ``program_names``: the names that come from the program.
    """
    modules: set[str] = set()
    assigned = {n.id for n in nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Store}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)):
            return "the tests await the program"
        elif isinstance(node, ast.Attribute) and node.attr in _INTERPRETER_METHODS:
            return f"the tests use {node.attr}, which {_INTERPRETER_METHODS[node.attr]}"
        elif isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id in program_names:
                    return f"the tests derive a class from {base.id}"
        elif isinstance(node, ast.Call) and (target := _find_patched_name(node, assigned)):
            return f"the tests patch {target}"
        elif isinstance(node, (ast.Assign, ast.AugAssign)) and (
            target := _find_assigned_name(node, assigned)
        ):
            return f"the tests change {target}"
    for module in sorted(modules):
        if reason := _INTERPRETER_MODULES.get(module.partition(".")[0]):
            return f"the tests import {module}, which {reason}"
    return None


def _find_patched_name(call: ast.Call, assigned: set[str]) -> str | None:
    """The target of ``patch("...")`` or ``patch.object(module, ...)`` that needs one interpreter."""
    method = (
        call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    )
    if method not in ("patch", "dict", "multiple", "object", "setattr"):
        return None
    function = ast.unparse(call.func)
    first = call.args[0] if call.args else None
    if function.endswith(("patch", "patch.dict", "patch.multiple")) and first is not None:
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return None if first.value in _PATCHABLE else first.value
        return ast.unparse(first) if "." in function.removeprefix("mock.") else None
    if function.endswith(("patch.object", "setattr")) and isinstance(first, ast.Name):
        return None if first.id in assigned else _standard_module(first.id)
    return None


def _find_assigned_name(node: ast.Assign | ast.AugAssign, assigned: set[str]) -> str | None:
    """An attribute of a standard module to which a statement assigns, or None."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            module, text = target.value.id, f"{target.value.id}.{target.attr}"
            if module not in assigned and _standard_module(module) and text not in _PATCHABLE:
                return text
    return None


def _standard_module(name: str) -> str | None:
    return name if name in sys.stdlib_module_names else None
