"""The shipped classes as records of ClassEval's form."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from llmzoo.envs.coding.class_eval.tasks import methods_of

_CLASSES = "llmzoo.envs.coding.class_eval.classes"


def records() -> Iterator[dict[str, Any]]:
    """The records of the shipped classes."""
    for file in sorted(files(_CLASSES).iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".py")
        if file.name.endswith(".py") and name != "__init__":
            yield record_of(name, file.read_text(encoding="utf-8"))


def record_of(task_id: str, source: str) -> dict[str, Any]:
    """The record of a shipped file: imports, a class with its bodies, and its tests."""
    lines = source.splitlines()
    tree = ast.parse(source)
    imports = [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and "unittest" not in ast.unparse(node)
    ]
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    assert node.end_lineno is not None
    head = "\n".join(imports)
    return {
        "task_id": task_id,
        "class_name": node.name,
        "import_statement": imports,
        "skeleton": f"{head}\n\n\n{_skeleton(node, lines)}\n".lstrip(),
        "solution_code": "\n".join([head, *lines[node.lineno - 1 : node.end_lineno]]),
        "test": "\n".join(["import unittest", *lines[node.end_lineno :]]),
        "methods_info": [
            {"method_name": name, "test_class": f"{node.name}Test{_camel(name)}"}
            for name in methods_of(node)
            if name != "__init__"
        ],
    }


def _skeleton(node: ast.ClassDef, lines: list[str]) -> str:
    """The class as it stands, but of every method only its signature and docstring."""
    pieces: list[str] = []
    start = node.lineno
    for inner in node.body:
        end = inner.end_lineno
        if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
            end = inner.body[0].end_lineno
        assert end is not None
        assert inner.end_lineno is not None
        pieces += lines[start - 1 : end]
        start = inner.end_lineno + 1
    return "\n".join(pieces)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
