"""Scripted writers: an expert who knows a solution, and a noisy expert who makes slips.

A reference solution in one piece is divided by the refactoring "extract function": one expression of
the entry point moves into ``aux``, whose arguments are the local variables that it needs, and a call
of ``aux`` replaces it.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable, Iterable, Sequence

from llmzoo.envs.coding.functions import scoring
from llmzoo.envs.coding.functions.tasks import HELPER
from llmzoo.errors import NoSolutionError
from llmzoo.sandbox import syntax

RIGHT_SHARE = 0.4  # of a noisy expert's answers


def split_solution(
    source: str, entry_point: str, is_needed: Callable[[str, str], bool] | None = None
) -> tuple[str, str]:
    """A solution as the sources of ``aux`` and of the rest.

    It is the first division in which both parts do work and for which ``is_needed(aux, rest)`` holds:
    whether the tests need what ``aux`` returns. If no ``aux`` is needed, it is the first in which both
    do work. A solution that does next to nothing has none; its division earns all but the share for
    work beyond a wrapper. Raises ``NoSolutionError`` if the source does not define ``entry_point``.
    """
    tree = syntax.parse(source)
    helpers = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == HELPER]
    if helpers:
        rest = [node for node in tree.body if node not in helpers]
        return ast.unparse(helpers[-1]), ast.unparse(ast.Module(rest, []))
    defined = [node for node in tree.body if getattr(node, "name", None) == entry_point]
    if not defined or not isinstance(defined[-1], ast.FunctionDef):
        raise NoSolutionError(f"the reference solution does not define {entry_point!r}")
    function = defined[-1]

    def rest_with(main: ast.FunctionDef) -> str:
        body = [main if node is function else node for node in tree.body]
        return ast.unparse(ast.Module(body, []))

    helper, main = f"def {HELPER}(value):\n    return value", function
    working: list[tuple[str, str]] = []
    for expression in _movable_expressions(function):
        helper, main = _extract_function(function, expression)
        if scoring.does_work(main, [HELPER]) and scoring.find_uses(main, HELPER) == ["used"]:
            working.append((helper, rest_with(main)))
            if is_needed is None or is_needed(*working[-1]):
                return working[-1]
    return working[0] if working else (helper, rest_with(main))


def join_helpers(main: str, entry_point: str, helpers: Sequence[str]) -> str:
    """``main`` for several helpers with the same contract: a result counts if all of them return it."""
    others = [name for name in helpers if name != HELPER]
    if not others:
        return main
    check = " and ".join(f"{name}(*args) == result" for name in others)
    agreed = syntax.parse(
        f"def agreed(*args):\n    result = {HELPER}(*args)\n    return result if {check} else None"
    ).body
    tree = syntax.parse(main)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry_point:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and inner.id == HELPER:
                    inner.id = "agreed"
            node.body = [*agreed, *node.body]
    return ast.unparse(tree)


def rename_function(helper: str, name: str) -> str:
    """The helper's source under another name."""
    return re.sub(rf"\b{HELPER}\b", name, helper)


def add_slips(source: str, rng: random.Random) -> str:
    """``source`` with one slip, or two; four times in ten, with none."""
    if rng.random() < RIGHT_SHARE:
        return source
    for _ in range(rng.choice((1, 1, 2))):
        slips = list(SLIPS)
        rng.shuffle(slips)
        for slip in slips:
            slipped = slip(source, rng)
            if slipped != source:
                source = slipped
                break
    return source


# Expressions that may move


def _movable_expressions(function: ast.FunctionDef) -> list[ast.expr]:
    """The expressions of a function that ``aux`` may compute, the largest first."""
    inside = [node for statement in function.body for node in ast.walk(statement)]
    bound: list[ast.AST] = [n.func for n in inside if isinstance(n, ast.Call)]  # moves as a whole
    bound += [n.value for n in inside if isinstance(n, ast.Expr)]  # nobody would read aux's value
    bound += [n for text in inside if isinstance(text, ast.JoinedStr) for n in _below(text)]
    excluded = set(bound)
    movable = [
        node
        for node in inside
        if isinstance(node, ast.expr) and node not in excluded and _may_move(function, node)
    ]
    return sorted(movable, key=lambda node: -len(_below(node)))


def _below(node: ast.AST) -> list[ast.AST]:
    return list(ast.walk(node))[1:]


def _may_move(function: ast.FunctionDef, node: ast.expr) -> bool:
    """Whether an expression means the same in another function: it is read, transfers no control,
    and binds no name that the function uses too."""
    if isinstance(node, ast.Starred | ast.Slice | ast.Constant | ast.Lambda):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    inside = list(ast.walk(node))
    if any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr) for n in inside):
        return False
    elsewhere = set(ast.walk(function)) - set(inside) - {function}
    return not _names_bound(inside) & _names_bound(elsewhere)


def _names_bound(nodes: Iterable[ast.AST]) -> set[str]:
    bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return bound


def _extract_function(
    function: ast.FunctionDef, expression: ast.expr
) -> tuple[str, ast.FunctionDef]:
    """``aux``, and the function with ``expression`` replaced by a call of it."""
    whole = set(ast.walk(function)) - {function}
    outside = {name for n in whole if isinstance(n, ast.Global) for name in n.names}
    inside = list(ast.walk(expression))
    passed = _names_bound(whole) - outside - _names_bound(inside)
    read = [n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    arguments = ", ".join(name for name in dict.fromkeys(read) if name in passed)
    call = syntax.parse(f"{HELPER}({arguments})", mode="eval").body
    # the memo keeps this one expression itself, so that the copy holds it too
    main = _Replace(expression, call).visit(copy.deepcopy(function, {id(expression): expression}))
    assert isinstance(main, ast.FunctionDef)
    return f"def {HELPER}({arguments}):\n    return {ast.unparse(expression)}", main


class _Replace(ast.NodeTransformer):
    """Puts one expression in another's place."""

    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)


# Slips


def _swap_match(table: dict[str, str], pattern: str) -> Callable[[str, random.Random], str]:
    """A slip that replaces one match of ``pattern`` by its entry in ``table``."""
    search = re.compile(pattern)

    def slip(source: str, rng: random.Random) -> str:
        matches = [m for m in search.finditer(source) if m.group() in table]
        if not matches:
            return source
        match = rng.choice(matches)
        return source[: match.start()] + table[match.group()] + source[match.end() :]

    return slip


def _change_number(source: str, rng: random.Random) -> str:
    """Make a number one too large or too small."""
    matches = list(re.finditer(r"\b\d\b", source))
    if not matches:
        return source
    match = rng.choice(matches)
    wrong = abs(int(match.group()) + rng.choice((-1, 1)))
    return f"{source[: match.start()]}{wrong}{source[match.end() :]}"


def _drop_last_match(pattern: str) -> Callable[[str, random.Random], str]:
    """A slip that leaves out the last match of ``pattern``."""
    search = re.compile(pattern)

    def slip(source: str, rng: random.Random) -> str:
        matches = list(search.finditer(source))
        if not matches:
            return source
        return source[: matches[-1].start()] + source[matches[-1].end() :]

    return slip


def _bypass_helper(source: str, rng: random.Random) -> str:
    """The helper is not called: its argument is used instead of its value."""
    source = re.sub(rf"map\({HELPER}, ?(\w+(?:\(\w+\))?)\)", r"\1", source)
    source = re.sub(rf"(?<!def )\b{HELPER}\((\w+)\)", r"\1", source)
    return re.sub(rf"(?<!def )\b{HELPER}\(", "(", source)


SLIPS: tuple[Callable[[str, random.Random], str], ...] = (
    _swap_match(
        {"+": "-", "-": "+", "*": "+", "//": "%", "%": "//", "<": ">", ">": "<", "==": "!="},
        r"//|[<>=!]=|[-+*%<>](?!=)",
    ),
    _swap_match(
        {"sum": "max", "max": "min", "min": "max", "sorted": "list", "set": "list"}, r"\w+"
    ),
    _change_number,
    _drop_last_match(r"\breturn "),
    _drop_last_match(r":(?=\n)"),
    _drop_last_match(r"\)(?=\n|$)|\)(?=[-+*])"),
    _drop_last_match(
        r" if (?:[^()\[\]\n]|\([^()\n]*\)|\[[^\[\]\n]*\])+(?=[)\]])"
    ),  # of a comprehension
    _bypass_helper,
)
