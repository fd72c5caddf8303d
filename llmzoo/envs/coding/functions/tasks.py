"""Problems for two writers: what both read, the tests, and a solution if known."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from llmzoo.envs.coding import programs
from llmzoo.envs.sources import BadField
from llmzoo.sandbox import syntax

SAMPLES = Path(__file__).parent / "records"  # of public sets: records written for llmzoo
HELPER = "aux"  # the helper's name; of several helpers the second writes aux_1, and so on

_EXAMPLE = re.compile(r">>> (.+)\n[ \t]*(\S.*)")


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """A function for two writers.

    ``statement``: what both agents read. ``helper``: the agreed contract of ``aux``, if there is one.
    ``terse``: both in few tokens. ``public``: assert statements that feedback may show. ``tests``: all
    tests that decide success, as the set publishes them. ``prelude``: code that program and tests may
    use. ``setup``: code that only the tests use. ``solution``: the sources of helper and main, or of
    the whole program, or nothing.
    """

    name: str
    entry_point: str
    statement: str
    public: tuple[str, ...] = field(compare=False)
    tests: str = field(compare=False)
    helper: str = ""
    terse: str = ""
    prelude: str = field(default="", compare=False)
    setup: str = field(default="", compare=False)
    solution: tuple[str, ...] = field(default=(), compare=False)

    @property
    def hidden_tests(self) -> str:
        """The tests that pay: those that nobody is shown, or all tests if none are left, or if one
        constant passes those that are left.
        """
        return _hidden_tests(self.tests, self.public, self.entry_point)

    @property
    def floor(self) -> float:
        """The largest share of the hidden tests that a program passes by always returning one value."""
        return _floor(self.hidden_tests, self.entry_point)


def contract(task: FunctionTask) -> str:
    """What both agents agree on about ``aux``: the task's own contract, or that it has the parameters of
    the function that is asked for and does the main part of its work."""
    if task.helper:
        return task.helper
    try:
        known = programs.functions(task.statement).get(task.entry_point)
    except programs.NoProgram:
        known = None
    parameters = "..." if known is None else ", ".join(a.arg for a in known.args.args)
    return (
        f"{HELPER}({parameters}) takes the arguments of {task.entry_point} and returns its main result, in "
        f"the form in which {task.entry_point} returns it; {task.entry_point} handles special cases, and "
        f"checks or completes what {HELPER} returns."
    )


def canonical(task: FunctionTask) -> str:
    """The entry point and the statement, whatever the spaces: tasks with equal ones are the same."""
    return " ".join(f"{task.entry_point} {task.terse or task.statement}".split())


def stub(signature: str, doc: str, examples: Sequence[tuple[str, str]]) -> str:
    """A function without a body; its docstring ends with examples, pairs of call and value."""
    shown = [f">>> {call}\n{value}" for call, value in examples]
    text = "\n".join([textwrap.fill(doc, 88), "", *shown]).strip()
    return f'def {signature}:\n    """{textwrap.indent(text, "    ").strip()}\n    """\n'


def parse_field(name: str, source: str) -> list[ast.stmt]:
    """The statements of a record's field; raises ``BadField`` for a field that is no program."""
    try:
        return syntax.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise BadField(name, f"is no program: {error}") from error


def example_asserts(statement: str, entry_point: str) -> tuple[str, ...]:
    """The examples of a docstring (``>>> call`` and its value below) as assert statements."""
    asserts = []
    for call, value in _EXAMPLE.findall(statement):
        try:
            syntax.parse(call, mode="eval")
            ast.literal_eval(syntax.parse(value.lstrip(" \t"), mode="eval"))
        except (SyntaxError, ValueError):
            continue
        if entry_point in call:
            asserts.append(f"assert {call.strip()} == {value.strip()}")
    return tuple(asserts)


@lru_cache(maxsize=4096)
def _hidden_tests(tests: str, public: tuple[str, ...], entry_point: str) -> str:
    tree = syntax.parse(tests)
    shown = {_canonical(node, entry_point) for text in public for node in syntax.parse(text).body}
    body = _statements(tree)
    kept = [node for node in body if _canonical(node, entry_point) not in shown]
    if len(kept) == len(body):
        return tests
    body[:] = kept
    return ast.unparse(tree) if 0 < _constant(tree, entry_point) < 1 else tests


@lru_cache(maxsize=4096)
def _floor(tests: str, entry_point: str) -> float:
    share = _constant(syntax.parse(tests), entry_point)
    return share if share < 1 else 0.0  # tests that a constant passes ask for no more than that


def _constant(tree: ast.Module, entry_point: str) -> float:
    """The largest share of asserts that ask for one and the same value; 0 without an assert."""
    asked: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            asked[
                ast.unparse(_Called(entry_point).visit(syntax.parse(ast.unparse(node.test))))
            ] += 1
    return max(asked.values()) / asked.total() if asked else 0.0


class _Called(ast.NodeTransformer):
    """Leaves out the arguments of calls of the entry point."""

    def __init__(self, entry_point: str):
        self.names = {entry_point, "candidate"}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            return ast.Call(node.func, [], [])
        return self.generic_visit(node)


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """The statements that are tests: of ``check(candidate)``, or of the module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "check":
            return node.body
    return tree.body


def _canonical(node: ast.stmt, entry_point: str) -> str:
    """A statement in one layout, with one of the function's two names."""
    return re.sub(rf"\b{re.escape(entry_point)}\(", "candidate(", ast.unparse(node))
