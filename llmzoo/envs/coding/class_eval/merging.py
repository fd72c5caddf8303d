"""Merges several writers' answers into one class, on the syntax tree.

An answer contributes its imports, helper functions, constants, helper methods, and methods of the
task. The skeleton's own part of the class (bases, constants, ``__init__``) cannot be changed. If two
agents write a method, its owner's version counts; if they write a helper, the earlier agent's.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llmzoo.envs.coding import programs
from llmzoo.envs.coding.class_eval.tasks import ClassTask, find_class
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.sandbox import syntax

Methods = Mapping[str, list[programs.Function]]  # several: a property and its setter, for example


@dataclass(frozen=True, slots=True)
class ParsedCompletion:
    """The parts of an answer: statements of the module, statements of the class, and methods."""

    module: tuple[ast.stmt, ...]
    inside: tuple[ast.stmt, ...]
    methods: Methods


def parse_completion(task: ClassTask, text: str) -> ParsedCompletion:
    """The parts of an answer: the class with some methods, or bare methods.

    A method whose body is a docstring, ``pass`` or ``...`` counts as not written. Raises
    :class:`NoProgram`.
    """
    source = programs.extract(text, {task.class_name, *task.methods})
    module: list[ast.stmt] = []
    inside: list[ast.stmt] = []
    methods: dict[str, list[programs.Function]] = {}
    for node in programs.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == task.class_name:
            for inner in node.body:
                if isinstance(inner, programs.Function) and inner.name in task.methods:
                    methods.setdefault(inner.name, []).append(inner)
                elif _is_helper(inner) and getattr(inner, "name", None) != "__init__":
                    inside.append(inner)
        elif isinstance(node, programs.Function) and node.name in task.methods:
            methods.setdefault(node.name, []).append(node)
        else:
            module.append(node)
    written = {name: nodes for name, nodes in methods.items() if not all(map(_is_stub, nodes))}
    if not written and not methods and not inside:
        raise NoProgram(f"no class {task.class_name} and none of its methods in it")
    return ParsedCompletion(tuple(module), tuple(inside), written)


def merge(
    task: ClassTask, parts: Mapping[str, ParsedCompletion], own: Mapping[str, tuple[str, ...]]
) -> str:
    """The merged program; raises :class:`NoProgram` if it does not compile."""
    try:
        source = ast.unparse(ast.fix_missing_locations(_merge_module(task, parts, own)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes and comparisons are the author's business
            compile(source, "<class>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise NoProgram(f"syntax error: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise NoProgram("too deep, or with a number too long, to be put together") from None
    return source


def count_writers(task: ClassTask, parts: Mapping[str, ParsedCompletion]) -> dict[str, int]:
    """How many agents wrote each method of the task."""
    return {name: sum(name in part.methods for part in parts.values()) for name in task.methods}


def _merge_module(
    task: ClassTask, parts: Mapping[str, ParsedCompletion], own: Mapping[str, tuple[str, ...]]
) -> ast.Module:
    known = find_class(task.reference, task.class_name)
    head = [n for n in known.body if getattr(n, "name", None) not in task.methods]
    inside = _without_duplicates([*head, *(n for part in parts.values() for n in part.inside)])
    methods: list[ast.stmt] = []
    for name in task.methods:
        owner_first = sorted(parts, key=lambda agent: name not in own[agent])
        versions = [parts[s].methods[name] for s in owner_first if name in parts[s].methods]
        methods += versions[0] if versions else []
    imports = list(syntax.parse(task.imports).body)
    module = _without_duplicates([*imports, *(n for part in parts.values() for n in part.module)])
    future = [n for n in module if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    rest = [n for n in module if n not in future]
    whole = ast.ClassDef(
        name=known.name,
        bases=known.bases,
        keywords=known.keywords,
        decorator_list=known.decorator_list,
        body=[*inside, *methods] or [ast.Pass()],
    )
    return ast.Module([*future, *rest, whole], [])


def _without_duplicates(nodes: Iterable[ast.stmt]) -> list[ast.stmt]:
    """The nodes, without those that repeat a definition or import of an earlier one."""
    seen: set[str] = set()
    kept = []
    for node in nodes:
        names = _names(node)
        if not names or not names <= seen:
            kept.append(node)
        seen |= names
    return kept


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, programs.Definition):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {ast.unparse(node)}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {ast.unparse(target) for target in targets}
    return set()


def _is_helper(node: ast.stmt) -> bool:
    kinds = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | programs.Definition
    return isinstance(node, kinds)


def _is_stub(node: programs.Function) -> bool:
    return all(
        isinstance(inner, ast.Pass)
        or (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant))
        for inner in node.body
    )
