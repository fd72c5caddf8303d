"""Which tests cannot be judged with the program in another process, by their text alone.

The program has no say in this: it would choose the weaker way.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from . import names

# what tests change or look at that is one per interpreter
_MODULES = {
    "inspect": "looks into code",
    "asyncio": "awaits the program",
    "threading": "calls the program from threads",
    "concurrent": "calls the program from threads",
    "multiprocessing": "calls the program from processes",
    "pickle": "pickles the program's objects",
    "gc": "looks into memory",
    "weakref": "looks into memory",
}
_METHODS = {
    "assertLogs": "catches the program's logs",
    "assertNoLogs": "catches the program's logs",
    "assertWarns": "catches the program's warnings",
    "assertWarnsRegex": "catches the program's warnings",
    "catch_warnings": "catches the program's warnings",
    "environ": "changes the environment",
    "chdir": "changes the working folder",
}
_PATCHABLE = ("builtins.input", "builtins.print", "sys.stdout", "sys.stdin", "sys.stderr")


def why_tests_share(tests: str) -> str | None:
    """Why a text of tests needs the program in its own interpreter, or None. Runs none of it."""
    tree = ast.parse(tests)
    nodes = list(ast.walk(tree))
    return why_shared(nodes, names.uses(tree, nodes).wanted)


def why_shared(nodes: Sequence[ast.AST], programs: set[str]) -> str | None:
    """Why tests of these nodes need the program in their own interpreter, or None.

    ``programs``: the names that come from the program.
    """
    modules: set[str] = set()
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and type(n.ctx) is ast.Store}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)):
            return "the tests await the program"
        elif isinstance(node, ast.Attribute) and node.attr in _METHODS:
            return f"the tests use {node.attr}, which {_METHODS[node.attr]}"
        elif isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id in programs:
                    return f"the tests derive a class from {base.id}"
        elif isinstance(node, ast.Call) and (target := _patched(node, stored)):
            return f"the tests patch {target}"
        elif isinstance(node, (ast.Assign, ast.AugAssign)) and (target := _assigned(node, stored)):
            return f"the tests change {target}"
    for module in sorted(modules):
        if reason := _MODULES.get(module.partition(".")[0]):
            return f"the tests import {module}, which {reason}"
    return None


def _patched(call: ast.Call, stored: set[str]) -> str | None:
    """The target of ``patch("...")`` or ``patch.object(module, ...)`` that only sharing serves."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last not in ("patch", "dict", "multiple", "object", "setattr"):
        return None
    function = ast.unparse(call.func)
    first = call.args[0] if call.args else None
    if function.endswith(("patch", "patch.dict", "patch.multiple")) and first is not None:
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return None if first.value in _PATCHABLE else first.value
        return ast.unparse(first) if "." in function.removeprefix("mock.") else None
    if function.endswith(("patch.object", "setattr")) and isinstance(first, ast.Name):
        return None if first.id in stored else _module_of_library(first.id)
    return None


def _assigned(node: ast.Assign | ast.AugAssign, stored: set[str]) -> str | None:
    """An attribute of a standard module that is assigned to."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            module, text = target.value.id, f"{target.value.id}.{target.attr}"
            if module not in stored and _module_of_library(module) and text not in _PATCHABLE:
                return text
    return None


def _module_of_library(name: str) -> str | None:
    return name if name in sys.stdlib_module_names else None
