"""Write the sample data of the coding environments from the programs beside this file.

    python scripts/samples/build.py            # samples, classes and programs: a second
    python scripts/samples/build.py --survey   # what the sandbox says of wrong programs too: minutes

Edit ``functions/``, ``classes/`` and ``programs/`` here, never the data files in the package.

* ``functions/*.py``: problems for two writers, lists of :class:`Sample`.
* ``classes/*.py``: imports, one class, one ``TestCase`` per method named ``<Class>Test<Method>`` (the
  method's name in camel case), and ``<Class>TestTogether`` for the class as a whole.
* ``programs/*.py``: correct functions for bug fixing. ``cases.json`` holds calls of each function and
  what they return, as JSON; a function without cases is a helper of those that call it.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CODING = HERE.parents[1] / "llmzoo" / "envs" / "coding"
FUNCTION_FILES = ("words", "numbers", "lists", "grids")  # the order of the tasks

Records = Iterable[dict[str, Any]]


def functions() -> Records:
    """The problems for two writers."""
    for name in FUNCTION_FILES:
        for sample in runpy.run_path(str(HERE / "functions" / f"{name}.py"))["PROBLEMS"]:
            yield asdict(sample)


def classes() -> Records:
    """The classes as records of ClassEval's form."""
    for path in sorted((HERE / "classes").glob("*.py")):
        yield class_record(path.stem, path.read_text(encoding="utf-8"))


def class_record(task_id: str, source: str) -> dict[str, Any]:
    """The record of a file: imports, a class with its bodies, and its tests."""
    lines = source.splitlines()
    tree = ast.parse(source)
    imports = [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and "unittest" not in ast.unparse(node)
    ]
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    head = "\n".join(imports)
    methods = [inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)]
    return {
        "task_id": task_id,
        "class_name": node.name,
        "import_statement": imports,
        "skeleton": f"{head}\n\n\n{_skeleton(node, lines)}\n".lstrip(),
        "solution_code": "\n".join([head, *lines[node.lineno - 1 : node.end_lineno]]),
        "test": "\n".join(["import unittest", *lines[node.end_lineno :]]),
        "methods_info": [
            {"method_name": name, "test_class": f"{node.name}Test{_camel(name)}"}
            for name in methods
            if name != "__init__"
        ],
    }


def _skeleton(node: ast.ClassDef, lines: list[str]) -> str:
    """The class with the bodies of its methods, apart from ``__init__``, cut to their docstrings."""
    pieces: list[str] = []
    start = node.lineno
    for inner in node.body:
        end = inner.end_lineno
        if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
            end = inner.body[0].end_lineno
        pieces += lines[start - 1 : end]
        start = inner.end_lineno + 1
    return "\n".join(pieces)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def programs() -> Records:
    """The correct programs: each function that has cases, behind the functions that it calls."""
    cases = json.loads((HERE / "programs" / "cases.json").read_text(encoding="utf-8"))
    for path in sorted((HERE / "programs").glob("*.py")):
        for name, source in _with_helpers(path.read_text(encoding="utf-8")):
            if name in cases:
                yield {"name": name, "source": source, "cases": cases[name]}


def _with_helpers(text: str) -> Iterator[tuple[str, str]]:
    defined = {
        node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    }
    for name, function in defined.items():
        called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        helpers = [node for other, node in defined.items() if other in called and other != name]
        yield name, ast.unparse(ast.Module([*helpers, function], []))


FILES: dict[str, Callable[[], Records]] = {
    "functions/samples.jsonl": functions,
    "class_eval/samples.jsonl": classes,
    "bug_fix/programs.jsonl": programs,
}


def text_of(records: Records) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main() -> None:
    for name, records in FILES.items():
        text = text_of(records())
        (CODING / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.splitlines())} records")
    if "--survey" in sys.argv[1:]:
        import survey

        survey.main(CODING)


if __name__ == "__main__":
    main()
