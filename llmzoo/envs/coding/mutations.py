"""Small changes to a program's syntax tree, as people make mistakes.

A mutation is named ``operator:number``; numbers count the operator's changes in the order of the
source. Programs are compared and shown as ``ast.unparse`` writes them.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from llmzoo.envs.coding.operators import OPERATORS, Names
from llmzoo.envs.coding.programs import Definition

Path = tuple[tuple[str, int], ...]  # from the module down: field, and position in a list or -1


@dataclass(frozen=True, slots=True)
class Change:
    """What one mutation does: which node gives way, and to what."""

    path: Path
    node: ast.AST | None


@lru_cache(maxsize=128)
def changes(source: str) -> Mapping[str, Change]:
    """All mutations of a program, by name."""
    named: dict[str, Change] = {}
    counts = dict.fromkeys(OPERATORS, 0)
    for path, node, names in _nodes(ast.parse(source)):
        for name, operator in OPERATORS.items():
            for other in operator(node, names):
                named[f"{name}:{counts[name]}"] = Change(path, other)
                counts[name] += 1
    return named


def mutate(source: str, names: Sequence[str]) -> str:
    """The program with the mutations ``names``.

    Raises ``ValueError`` where one of them lies inside another, or would leave a block empty.
    """
    known = changes(source)
    chosen = sorted((known[name] for name in names), key=lambda change: change.path, reverse=True)
    for later, earlier in pairwise(chosen):
        if later.path[: len(earlier.path)] == earlier.path:
            raise ValueError(f"{' and '.join(names)} change the same place")
    tree = ast.parse(source)
    for change in chosen:  # from the end, so that earlier positions stay valid
        *way, (field, position) = change.path
        parent: ast.AST = tree
        for step, index in way:
            value = getattr(parent, step)
            parent = value if index < 0 else value[index]
        if position < 0:
            setattr(parent, field, copy.deepcopy(change.node))
            continue
        siblings = getattr(parent, field)
        if change.node is not None:
            siblings[position] = copy.deepcopy(change.node)
        elif len(siblings) == 1:
            raise ValueError(f"{names} leaves a block empty")
        else:
            del siblings[position]
    return ast.unparse(ast.fix_missing_locations(tree))


def locations(correct: str, broken: str) -> frozenset[tuple[str, int]]:
    """Function and line of ``broken`` wherever it differs; where lines are missing, the lines
    before and after the gap."""
    lines: set[int] = set()
    matcher = difflib.SequenceMatcher(
        None, correct.splitlines(), broken.splitlines(), autojunk=False
    )
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            lines |= set(range(start + 1, end + 1)) or {start, start + 1}
    return frozenset(
        (node.name, line)
        for node in ast.parse(broken).body
        if isinstance(node, ast.FunctionDef)
        for line in lines
        if node.lineno <= line <= (node.end_lineno or 0)
    )


def _nodes(tree: ast.Module) -> Iterator[tuple[Path, ast.AST, Names]]:
    """Every node of every function and method, and of the statements outside of them, with the way
    to it and the names of the values around it."""
    outside = [node for node in tree.body if not isinstance(node, Definition)]
    module = _values(ast.Module(outside, []))
    for index, node in enumerate(tree.body):
        path: Path = (("body", index),)
        if isinstance(node, ast.FunctionDef):
            yield from _inside(node, path)
        elif isinstance(node, ast.ClassDef):
            for position, method in enumerate(node.body):
                if isinstance(method, ast.FunctionDef):
                    yield from _inside(method, (*path, ("body", position)))
        elif node in outside:
            yield path, node, module
            for inner_path, inner in _walk(node, path):
                yield inner_path, inner, module


def _inside(function: ast.FunctionDef, path: Path) -> Iterator[tuple[Path, ast.AST, Names]]:
    names = _values(function)
    for inner_path, node in _walk(function, path):
        yield inner_path, node, names


def _walk(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for position, child in enumerate(value) if isinstance(value, list) else [(-1, value)]:
            if isinstance(child, ast.AST):
                here = (*path, (field, position))
                yield here, child
                yield from _walk(child, here)


def _values(scope: ast.FunctionDef | ast.Module) -> Names:
    arguments = scope.args.args if isinstance(scope, ast.FunctionDef) else ()
    names = dict.fromkeys(arg.arg for arg in arguments)
    for _, node in _walk(scope, ()):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id)
    return list(names)
