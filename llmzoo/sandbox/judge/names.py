"""Where the names that tests use come from: the tests, Python's library, or the program.

Tests are often written as if they stood below the program, in its file. A name that they neither
define nor import is the program's; except that a name of a standard module, such as ``math``, is
that module, or a program could bring a ``math.isclose`` of its own.
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

# the names under which test files import the program, beside those that cannot be imported
_PROGRAM_MODULES = {"candidate", "solution", "program", "main", "__main__"}
_ALIASES = {
    "np": "numpy",
    "pd": "pandas",
    "ET": "xml.etree.ElementTree",
    "dt": "datetime",
    "mock": "unittest.mock",
}
# where tests look for a function that the program had imported for itself
_LIBRARIES = (
    *("math", "collections", "datetime", "itertools", "functools", "decimal", "fractions", "copy"),
    *("typing", "re", "heapq", "bisect", "statistics", "random", "string", "io", "unittest.mock"),
    *("numpy", "numpy.testing"),
)


@dataclass
class Uses:
    """The names in a text of tests. ``wanted``: those to find elsewhere; ``attributes`` and
    ``called``: how they are used; ``imported``: program's name for each name imported from it;
    ``modules``: names by which the program itself is imported."""

    wanted: set[str] = field(default_factory=set)
    attributes: dict[str, set[str]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)


def uses(tree: ast.Module, nodes: Sequence[ast.AST]) -> Uses:
    """Read off the names of a tree with these nodes; takes imports of the program out of it."""
    found = Uses()
    _take_imports(tree.body, found)
    defined = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            defined.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            defined.update((a.asname or a.name).partition(".")[0] for a in statement.names)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if not node.id.startswith("__"):
                found.wanted.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.attributes.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.called.add(node.func.id)
    found.wanted -= defined
    found.wanted.update(found.imported.values())
    return found


def standard(name: str, found: Uses) -> Any | None:
    """What a name of the standard library means, judged by how the tests use it, else None.

    ``datetime.date.today()`` takes the module, ``datetime.now()`` the class in it.
    """
    attributes = found.attributes.get(name, set())
    module_name = _ALIASES.get(name, name)
    if name not in _ALIASES and name not in sys.stdlib_module_names:
        return None
    if not attributes:
        return None  # called, or passed around: a function that happens to be named so
    try:
        module = importlib.import_module(module_name)
    except ImportError:
        return None
    if name not in found.called and all(hasattr(module, attribute) for attribute in attributes):
        return module
    return vars(module).get(name)


def library_object(name: str) -> Any | None:
    """The function or class of the usual libraries that the program says it has only imported."""
    for module in _LIBRARIES:
        if module in sys.modules and name in vars(sys.modules[module]):
            return vars(sys.modules[module])[name]
    return None


def is_builtin(name: str) -> bool:
    return hasattr(builtins, name)


def called_builtins(nodes: Sequence[ast.AST], found: Uses) -> set[str]:
    """The builtins that the program must have replaced, since the asserts call nothing else:
    ``assert sum(10, 15) == 6``."""
    asserts = [node for node in nodes if isinstance(node, ast.Assert)]
    if not asserts or not all(is_builtin(name) for name in found.wanted):
        return set()
    called = [outermost_call(one.test) for one in asserts]
    return set(called) if len(set(called)) == 1 and called[0] else set()  # type: ignore[arg-type]


def outermost_call(test: ast.expr) -> str | None:
    """The name called on the left of a comparison."""
    if isinstance(test, ast.Compare):
        test = test.left
    named = isinstance(test, ast.Call) and isinstance(test.func, ast.Name)
    return test.func.id if named else None  # type: ignore[attr-defined]


def _take_imports(body: list[ast.stmt], found: Uses) -> None:
    for statement in list(body):
        if isinstance(statement, ast.ImportFrom):
            if not statement.level and not _is_program(statement.module or ""):
                continue
            for alias in statement.names:
                if alias.name != "*":
                    found.imported[alias.asname or alias.name] = alias.name
            body.remove(statement)
        elif isinstance(statement, ast.Import):
            own = [alias for alias in statement.names if _is_program(alias.name)]
            found.modules.update(alias.asname or alias.name for alias in own)
            statement.names = [alias for alias in statement.names if alias not in own]
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
