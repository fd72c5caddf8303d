"""Small changes to a program's syntax tree, such as people's mistakes.

A mutation is named ``operator:number``; numbers count the operator's changes in the order of the
source. An operator looks at one node and yields the nodes that people write there by mistake (None:
the statement is missing). Programs are compared and shown as ``ast.unparse`` writes them.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from llmzoo.envs.coding.programs import Definition
from llmzoo.sandbox import syntax

Path = tuple[tuple[str, int], ...]  # from the module down: field, and position in a list or -1
Names = Sequence[str]  # what the function around a node calls its values, in order of appearance
Operator = Callable[[ast.AST, Names], Iterator[ast.AST | None]]

OPERATORS: dict[str, Operator] = {}


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
    for path, node, names in _nodes(syntax.parse(source)):
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
    tree = syntax.parse(source)
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
        for node in syntax.parse(broken).body
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


# Operators

_FLIPPED: Mapping[type[ast.AST], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_MOVED: Mapping[type[ast.AST], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_SWAPPED: Mapping[type[ast.AST], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_PARTNERS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _operator(function: Operator) -> Operator:
    OPERATORS[function.__name__] = function
    return function


@_operator
def comparison_flip(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a < b`` becomes ``a > b``, ``==`` becomes ``!=``, ``in`` becomes ``not in``."""
    yield from _compare(node, _FLIPPED)


@_operator
def boundary(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a < b`` becomes ``a <= b``, and the other way round."""
    yield from _compare(node, _MOVED)


@_operator
def arithmetic_swap(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a + b`` becomes ``a - b``, ``//`` becomes ``%``."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        yield ast.BinOp(node.left, _SWAPPED[type(node.op)](), node.right)


@_operator
def update_swap(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a += b`` becomes ``a -= b`` or ``a = b``."""
    if isinstance(node, ast.AugAssign):
        if type(node.op) in _SWAPPED:
            yield ast.AugAssign(node.target, _SWAPPED[type(node.op)](), node.value)
        yield ast.Assign([node.target], node.value)


@_operator
def boolean_swap(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``and`` becomes ``or``, and the other way round."""
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


@_operator
def condition_dropped(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a and b`` becomes ``a``, or ``b``."""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        yield from node.values


@_operator
def negated_condition(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``if a:`` becomes ``if not a:``, and the other way round."""
    if isinstance(node, ast.If | ast.IfExp):
        test = node.test
        bare = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        opposite = test.operand if isinstance(test, ast.UnaryOp) and bare else None
        yield _with(node, test=opposite or ast.UnaryOp(ast.Not(), test))


@_operator
def wrong_constant(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """A whole number is one too large, or one too small."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


@_operator
def swapped_arguments(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``f(a, b)`` becomes ``f(b, a)``; so do the two sides of ``a - b``."""
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        for i in range(len(node.args) - 1):
            args = list(node.args)
            args[i : i + 2] = args[i + 1], args[i]
            yield _with(node, args=args)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.FloorDiv | ast.Mod):
        yield ast.BinOp(node.right, node.op, node.left)


@_operator
def dropped_statement(node: ast.AST, names: Names) -> Iterator[None]:
    """An assignment or a call is missing."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if call or isinstance(node, ast.Assign | ast.AugAssign):
        yield None


@_operator
def dropped_return(node: ast.AST, names: Names) -> Iterator[ast.AST | None]:
    """``return a`` becomes ``return``."""
    if isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(None)


@_operator
def dropped_case(node: ast.AST, names: Names) -> Iterator[None]:
    """An ``if`` that only leaves the function or goes on with the loop is missing."""
    if isinstance(node, ast.If) and not node.orelse:
        last = node.body[-1]
        if len(node.body) == 1 and isinstance(last, ast.Return | ast.Continue | ast.Break):
            yield None


@_operator
def wrong_variable(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """The name that first appears before or after another stands in its place."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        position = names.index(node.id)
        for other in (position - 1, position + 1):
            if 0 <= other < len(names):
                yield ast.Name(names[other], ast.Load())


@_operator
def slice_bound(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a[i:j]`` becomes ``a[i + 1:j]``, ``a[i:j + 1]``, ``a[i:]`` or ``a[:j]``."""
    if isinstance(node, ast.Slice):
        if node.lower is not None:
            yield _with(node, lower=_shift(node.lower, 1))
            yield _with(node, lower=None)
        if node.upper is not None:
            yield _with(node, upper=_shift(node.upper, 1))
            yield _with(node, upper=None)


@_operator
def wrong_index(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``a[i]`` becomes ``a[i + 1]`` or ``a[i - 1]``, ``a[0]`` becomes ``a[-1]``."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        if isinstance(node.slice, ast.Name | ast.BinOp):
            yield _with(node, slice=_shift(node.slice, 1))
            yield _with(node, slice=_shift(node.slice, -1))
        elif isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            yield _with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
        elif isinstance(node.slice, ast.UnaryOp):
            yield _with(node, slice=ast.Constant(0))


@_operator
def range_bound(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``range(a, b)`` becomes ``range(a + 1, b)``, ``range(a, b - 1)`` or ``range(a, b + 1)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        end = 0 if len(node.args) == 1 else 1
        changes = [(end, 1), (end, -1)] if end == 0 else [(0, 1), (end, 1), (end, -1)]
        for number, by in changes:
            args = list(node.args)
            args[number] = _shift(args[number], by)
            yield _with(node, args=args)
        if end == 0:
            yield _with(node, args=[ast.Constant(1), *node.args])


@_operator
def break_continue(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``break`` becomes ``continue``, and the other way round."""
    if isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()


@_operator
def wrong_start(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """A variable begins with 1 instead of 0, True instead of False, a space instead of nothing."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        value = node.value.value
        others = {bool: lambda: not value, int: lambda: 0 if value else 1, str: lambda: " "}
        if type(value) in others:
            yield ast.Assign(node.targets, ast.Constant(others[type(value)]()))


@_operator
def min_max_swap(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``min`` becomes ``max``, ``any`` becomes ``all``, and the other way round."""
    if isinstance(node, ast.Name) and node.id in _PARTNERS and isinstance(node.ctx, ast.Load):
        yield ast.Name(_PARTNERS[node.id], ast.Load())


@_operator
def negated_sign(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """``-a`` becomes ``a``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def _compare(
    node: ast.AST, partners: Mapping[type[ast.AST], type[ast.cmpop]]
) -> Iterator[ast.Compare]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in partners:
                ops = [*node.ops[:i], partners[type(op)](), *node.ops[i + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with some fields replaced."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _shift(node: ast.expr, by: int) -> ast.expr:
    """``node + by``, in its simplest form."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(node.value + by)
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        sign = {ast.Add: 1, ast.Sub: -1}.get(type(node.op), 0)
        value = node.right.value
        if sign and isinstance(value, int):
            return _shift(node.left, sign * value + by) if sign * value + by else node.left
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))
