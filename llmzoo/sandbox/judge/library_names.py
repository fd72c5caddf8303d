"""Library names that tests use without importing them, because the program is expected to import them.

``assert f("aab") == Counter("aab")`` means the library's Counter. A program could otherwise supply one
that equals everything. ``assert Counter().add(1) == 1`` tests a Counter of the program's own: an
assertion that uses nothing else of the program.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .isolation_requirements import Uses, is_builtin, standard_object

_MODULES = {
    "collections": "Counter OrderedDict defaultdict deque namedtuple ChainMap",
    "fractions": "Fraction",
    "decimal": "Decimal",
    "datetime": "date datetime timedelta timezone",
    "math": "isclose isnan isinf isfinite fabs fsum sqrt ceil floor gcd factorial comb pi inf nan",
    "copy": "deepcopy",
    "numpy": "array asarray allclose array_equal",
    "numpy.testing": "assert_allclose assert_almost_equal assert_array_almost_equal assert_equal "
    "assert_array_equal",
}
_MODULE_BY_NAME = {name: module for module, names in _MODULES.items() for name in names.split()}


def library_names(nodes: Sequence[ast.AST], uses: Uses, program_names: set[str]) -> dict[str, Any]:
    """The library objects that the tests mean by names that they do not import.

    ``program_names``: names that always belong to the program.
    """
    meant = {
        name
        for name in uses.undefined & _MODULE_BY_NAME.keys() - program_names
        if hasattr(sys.modules.get(_MODULE_BY_NAME[name]), name)
        and standard_object(name, uses) is None
    }
    if meant:
        meant -= _under_test(nodes, uses, meant)
    return {name: getattr(sys.modules[_MODULE_BY_NAME[name]], name) for name in meant}


def _under_test(nodes: Sequence[ast.AST], uses: Uses, meant: set[str]) -> set[str]:
    """The names that some assertion uses without anything else that may come from the program."""
    sources: dict[str, set[str]] = {}  # by variable: the names that its value was computed from
    parameters: set[str] = set()
    for node in nodes:
        for target, value in _assignments(node):
            for name in _names(target):
                sources.setdefault(name, set()).update(_names(value))
        if isinstance(node, ast.arg) and node.arg != "self":
            parameters.add(node.arg)
    own = {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    found: set[str] = set()
    for node in filter(_is_assertion, nodes):
        names = _expand(_names(node), sources)
        others = {
            name
            for name in names - meant - own
            if name in parameters
            or name in uses.imported
            or (name in uses.undefined and name not in sources and not _is_known(name, uses))
        }
        if not others:
            found |= names & meant
    return found


def _is_known(name: str, uses: Uses) -> bool:
    return is_builtin(name) or name == "self" or standard_object(name, uses) is not None


def _is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any(_is_assertion(item.context_expr) for item in node.items)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr.startswith("assert")
    return isinstance(node, ast.Assert)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Pairs of a target and the value that it is given."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _names(tree: ast.AST) -> set[str]:
    """The names in a tree, and those of attributes of ``self``."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {
        f"self.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def _expand(names: set[str], sources: dict[str, set[str]]) -> set[str]:
    """The names, and all names that their values were computed from."""
    known: set[str] = set()
    while names:
        known |= names
        names = {source for name in names for source in sources.get(name, ())} - known
    return known
