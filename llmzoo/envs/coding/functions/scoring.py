"""Scores of two writers' programs: facts from the syntax tree, and weighted parts.

The parts and their weights in the ``"paper"`` scale, of 4.0 in all, are those of the
collaborative-coding reward of MAGRPO (arXiv 2508.04652):

| part | paper | unit | paid for |
|---|---|---|---|
| helper | 0.4 | 0.01 | every helper function is defined and returns something |
| main | 0.6 | 0.015 | the entry point is defined; in the unit scale a third for that, the rest if it uses ``aux`` |
| parses | 0.5 | 0.015 | the programs of all agents parse |
| tests | 1.0 | 0.384 | passed tests |
| calls | 0.5 | 0.192 | the entry point uses ``aux``; times passed tests |
| beyond | 1.0 | 0.384 | and does work of its own, more than a wrapper would; times passed tests |
| ignored | -0.5 | -0.192 | what ``aux`` returns is never used; times passed tests |

With several helpers, helper, main, calls and ignored count each helper's share. Form alone is worth 1.5
of 4 in the paper's scale, more than an honest attempt with a mistake earns. The unit scale pays little
for form, and its "passed tests" is :func:`score_tests` instead of a share.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from llmzoo.envs.coding.programs import Function

Scale = Literal["unit", "paper"]
WEIGHTS: Mapping[Scale, Mapping[str, float]] = {
    "paper": {
        "helper": 0.4,
        "main": 0.6,
        "parses": 0.5,
        "tests": 1.0,
        "calls": 0.5,
        "beyond": 1.0,
        "ignored": -0.5,
    },
    "unit": {
        "helper": 0.01,
        "main": 0.015,
        "parses": 0.015,
        "tests": 0.384,
        "calls": 0.192,
        "beyond": 0.384,
        "ignored": -0.192,
    },
}
FULL: Mapping[Scale, float] = {"paper": 4.0, "unit": 1.0}
ATTEMPT = 0.25  # of an agent's share of "parses" for a function that is begun and does not parse

_CONVERSIONS = frozenset(
    {"bool", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_WORK = (
    *(ast.For, ast.AsyncFor, ast.While, ast.If, ast.IfExp, ast.Match),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.AugAssign),
    *(ast.Subscript, ast.JoinedStr, ast.Delete),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the syntax tree of a merged program says. ``helper``, ``calls`` and ``ignored`` are shares of
    the helpers, and so is ``asks``: those that the entry point uses, whether or not somebody wrote
    them. ``parses`` is a share of the agents."""

    helper: float = 0.0
    main: bool = False
    parses: float = 0.0
    calls: float = 0.0
    beyond: bool = False
    ignored: float = 0.0
    asks: float = 0.0


def collect_facts(
    functions: Mapping[str, Function], helpers: Sequence[str], entry_point: str, *, parses: float
) -> Facts:
    """The facts about a program's top-level ``functions``."""
    written = [name for name in helpers if name in functions]
    helper = sum(returns_value(functions[name]) for name in written) / len(helpers)
    main = functions.get(entry_point)
    if main is None:
        return Facts(helper=helper, parses=parses)
    uses_of = [kinds for kinds in (find_uses(main, name) for name in written) if kinds]
    return Facts(
        helper=helper,
        main=True,
        asks=sum(bool(find_uses(main, name)) for name in helpers) / len(helpers),
        parses=parses,
        calls=len(uses_of) / len(helpers),
        beyond=bool(uses_of) and does_work(main, helpers),
        ignored=sum("used" not in kinds for kinds in uses_of) / len(helpers),
    )


def discount_idle_helpers(facts: Facts, needed: Sequence[str], helpers: Sequence[str]) -> Facts:
    """The facts where only the helpers in ``needed`` count as used."""
    share = len(needed) / len(helpers)
    return replace(
        facts,
        calls=min(facts.calls, share),
        beyond=facts.beyond and bool(needed),
        ignored=min(facts.ignored, share),
    )


def reward_components(facts: Facts, passed: float, scale: Scale = "unit") -> dict[str, float]:
    """The named parts. ``passed``: the worth of the passed tests, from 0 to 1."""
    worth = {
        "helper": facts.helper,
        "main": facts.main * (1.0 if scale == "paper" else (1 + 2 * facts.asks) / 3),
        "parses": facts.parses,
        "tests": passed,
        "calls": facts.calls * passed,
        "beyond": facts.beyond * passed,
        "ignored": facts.ignored * passed,
    }
    return {name: weight * worth[name] or 0.0 for name, weight in WEIGHTS[scale].items()}  # no -0.0


def score_tests(share: float, floor: float) -> float:
    """The worth of a share of passed tests when a constant passes ``floor``: the square of the share
    beyond it. Guesses that pass a few tests earn little beside a program that passes most.

    >>> score_tests(0.75, 0.5)
    0.25
    """
    return max(0.0, (share - floor) / (1.0 - floor)) ** 2


def returns_value(function: Function) -> bool:
    """Whether the function itself, not a function nested in it, returns or yields something."""
    for node in _live_nodes(function.body, enter=False):
        if isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                return True
        elif isinstance(node, ast.Yield | ast.YieldFrom):
            return True
    return False


def find_uses(function: Function, name: str) -> list[str]:
    """How the function uses ``name``: "used" or "ignored" for each occurrence.

    A use is a call or a mention (``map(aux, items)``). It is ignored if the call is a statement, or
    if its value goes into a variable that nothing reads. A function that binds the name itself
    (argument, assignment, nested definition) does not use the helper.
    """
    nodes = list(_live_nodes(function.body))
    if name in _bound_names(function, nodes):
        return []
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    ignored: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            ignored |= _idle_calls(node.value, name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(t, ast.Name) and t.id not in read for t in targets):
                ignored |= _idle_calls(node.value, name)
    heads = {call.func for call in ignored if isinstance(call, ast.Call)}
    return [
        "ignored" if node in heads else "used"
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def does_work(function: Function, helpers: Sequence[str]) -> bool:
    """Whether the function does more than pass values to its helpers and their results on.

    Work is an operation, a branch, a loop, a comprehension or a subscript on anything but
    constants, or a call of anything but a helper or a plain conversion such as ``list(x)``.
    Assertions, annotations, docstrings and statements that cannot be reached are none.
    """
    for node in _live_nodes(function.body):
        if isinstance(node, _WORK):
            operands = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
            if not all(isinstance(operand, ast.Constant) for operand in operands):
                return True
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else None
            if called not in _CONVERSIONS and called not in helpers:
                return True
    return False


def _live_nodes(body: Sequence[ast.AST], *, enter: bool = True) -> Iterator[ast.AST]:
    """The nodes that can run, without assertions and annotations; with ``enter`` those of nested
    functions too. Code behind a return or in a dead branch on a constant cannot run."""
    waiting: list[ast.AST] = list(reversed(_until_exit(body)))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assert):
            continue
        yield node
        if isinstance(node, _SCOPES) and not enter:
            continue
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            if isinstance(value, list):
                children = [child for child in value if isinstance(child, ast.AST)]
                waiting += reversed(_until_exit(children))
            elif isinstance(value, ast.AST):
                waiting.append(value)


def _until_exit(body: Sequence[ast.AST]) -> list[ast.AST]:
    """A block up to the statement that leaves it, with only the live part of a branch on a constant."""
    kept: list[ast.AST] = []
    for node in body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant):
            kept += _until_exit(node.body if node.test.value else node.orelse)
        elif not (
            isinstance(node, ast.While)
            and isinstance(node.test, ast.Constant)
            and not node.test.value
        ):
            kept.append(node)
        if kept and isinstance(kept[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
            break
    return kept


def _bound_names(function: Function, nodes: Sequence[ast.AST]) -> set[str]:
    """The names that a function binds itself."""
    arguments = [n for n in ast.walk(function.args) if isinstance(n, ast.arg)]
    bound = {a.arg for a in [*arguments, *(n for n in nodes if isinstance(n, ast.arg))]}
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
    return bound


def _idle_calls(value: ast.AST, name: str) -> set[ast.AST]:
    """The calls of ``name`` in an expression whose value is dropped, except calls whose value goes into
    another call, a caller or a variable."""
    calls: set[ast.AST] = set()
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == name:
                calls.add(node)
        elif not isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr):
            waiting += ast.iter_child_nodes(node)
    return calls
