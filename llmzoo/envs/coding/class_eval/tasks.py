"""Classes to write, from records of ClassEval's form: their tests, and who writes which methods.

A record's fields that are read: ``task_id``, ``class_name``, ``skeleton``, ``import_statement``,
``solution_code``, ``test``, and of each of ``methods_info`` ``method_name`` and ``test_class``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from llmzoo.envs.coding import programs
from llmzoo.envs.sources import BadField, PublicSet, get_field, get_strings, record_id
from llmzoo.sandbox import syntax


@dataclass(frozen=True, slots=True)
class ClassTask:
    """A class to write. ``suites``: the test class of each method that has one. ``reference`` and
    ``tests``: programs that may use ``imports``."""

    task_id: str
    class_name: str
    skeleton: str
    imports: str
    methods: tuple[str, ...]
    suites: tuple[tuple[str, str], ...]
    reference: str
    tests: str


@dataclass(frozen=True, slots=True)
class Half:
    """Half of the tests, or all: a program, and the names of its tests as ``Class.method``."""

    source: str
    names: tuple[str, ...]


def parse_record(record: Mapping[str, Any]) -> ClassTask:
    """The task of a record; raises ``BadField``."""
    class_name = get_field(record, "class_name", str)
    reference = get_field(record, "solution_code", str)
    tests = get_field(record, "test", str)
    names = [
        node.name for node in _parse("solution_code", reference) if isinstance(node, ast.ClassDef)
    ]
    if class_name not in names:
        raise BadField("solution_code", f"does not define a class {class_name!r}")
    _parse("test", tests)
    methods = get_field(record, "methods_info", list)
    return ClassTask(
        task_id=record_id(record),
        class_name=class_name,
        skeleton=get_field(record, "skeleton", str),
        imports="\n".join(get_strings(record, "import_statement", [])),
        methods=tuple(get_field(method, "method_name", str) for method in methods),
        suites=tuple(
            (get_field(method, "method_name", str), get_field(method, "test_class", str, ""))
            for method in methods
        ),
        reference=reference,
        tests=tests,
    )


PUBLIC_SET = PublicSet(
    hub_id="FudanSELab/ClassEval", read=parse_record, sample=Path(__file__).parent / "samples.jsonl"
)


def canonical(task: ClassTask) -> str:
    """The reference, whatever its layout: tasks with the same one are the same."""
    return " ".join(task.reference.split())


@lru_cache(maxsize=256)
def split_tests(tests: str) -> tuple[Half, Half]:
    """The public and the hidden half of a program of unittest classes.

    In every class the first, third, ... test is hidden and the second, fourth, ... public. Other code
    stands in both halves.
    """
    public: list[str] = []
    hidden: list[str] = []
    for suite in _suites(tests):
        for number, test in enumerate(_tests(suite)):
            (public if number % 2 else hidden).append(f"{suite.name}.{test}")
    return _keep_tests(tests, public), _keep_tests(tests, hidden)


@lru_cache(maxsize=256)
def all_tests(tests: str) -> Half:
    """All tests of a program of unittest classes."""
    return Half(tests, tuple(f"{s.name}.{test}" for s in _suites(tests) for test in _tests(s)))


@lru_cache(maxsize=256)
def test_sources(tests: str) -> Mapping[str, str]:
    """The text of each test, by ``Class.method``."""
    return {
        f"{suite.name}.{node.name}": ast.unparse(node)
        for suite in _suites(tests)
        for node in suite.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


def assign_methods(
    task: ClassTask, agents: list[str], divide: Literal["dependency", "arity"]
) -> dict[str, tuple[str, ...]]:
    """Each agent's methods: consecutive ones in an order, split as evenly as possible.

    ``dependency``: a method comes after those that it calls, so earlier agents write what later ones
    build on. ``arity``: fewest parameters first.
    """
    ordered = _sort_by_dependency(task) if divide == "dependency" else _sort_by_arity(task)
    each, more = divmod(len(ordered), len(agents))
    shares = {}
    start = 0
    for number, agent in enumerate(agents):
        end = start + each + (number < more)
        shares[agent] = tuple(ordered[start:end])
        start = end
    return shares


def _parse(name: str, source: str) -> list[ast.stmt]:
    try:
        return syntax.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise BadField(name, f"is not a Python program ({error})") from error


def find_class(source: str, name: str) -> ast.ClassDef:
    """The class ``name`` of a trusted program; ``KeyError`` where there is none."""
    for node in syntax.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise KeyError(name)


def class_methods(node: ast.ClassDef) -> dict[str, programs.Function]:
    """The methods of a class by name; the last one of each name."""
    return {inner.name: inner for inner in node.body if isinstance(inner, programs.Function)}


def _suites(tests: str) -> list[ast.ClassDef]:
    return [node for node in syntax.parse(tests).body if isinstance(node, ast.ClassDef)]


def _tests(suite: ast.ClassDef) -> list[str]:
    return [name for name in class_methods(suite) if name.startswith("test")]


def _keep_tests(tests: str, names: list[str]) -> Half:
    tree = syntax.parse(tests)
    kept = set(names)
    for suite in tree.body:
        if isinstance(suite, ast.ClassDef):
            dropped = {test for test in _tests(suite) if f"{suite.name}.{test}" not in kept}
            body = [n for n in suite.body if getattr(n, "name", None) not in dropped]
            suite.body = body or [ast.Pass()]
    return Half(ast.unparse(tree), tuple(names))


def _sort_by_dependency(task: ClassTask) -> list[str]:
    bodies = class_methods(find_class(task.reference, task.class_name))
    ordered: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in ordered or name in above:  # methods that call one another keep their order
            return
        called = {n.attr for n in ast.walk(bodies[name]) if isinstance(n, ast.Attribute)}
        for other in task.methods:
            if other in called:
                visit(other, (*above, name))
        ordered.append(name)

    for name in task.methods:
        visit(name, ())
    return ordered


def _sort_by_arity(task: ClassTask) -> list[str]:
    bodies = class_methods(find_class(task.reference, task.class_name))

    def arity(name: str) -> int:
        given = bodies[name].args
        counted = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        return sum(a.arg not in ("self", "cls") for a in counted)

    return sorted(task.methods, key=arity)
