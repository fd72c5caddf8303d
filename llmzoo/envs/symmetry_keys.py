"""Keys that are equal for tasks that differ only by a symmetry.

Tasks with the same key are in the same split, such as ``37 + 48`` and ``48 + 37``. The symmetries are: the
order of operands that commute, the sign of a whole difference, the order of equations and of their sides,
the names of unknowns, the sign of an unknown, and a common factor of a whole equation.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import permutations, product
from math import gcd

from llmzoo.sandbox import syntax


def sorted_key(*items: object) -> str:
    """The items as a text that does not depend on their order."""
    return " ".join(sorted(map(str, items)))


def commutative_key(expression: str) -> str:
    """An expression of numbers with sorted terms and factors; ``a - b`` and ``b - a`` are equal."""
    return _normalize_node(syntax.parse(expression.replace("^", "**"), mode="eval").body)


def _normalize_node(node: ast.expr) -> str:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            plain, inverse = _operands(node, (ast.Add, ast.Sub))
            return "(" + " - ".join(" + ".join(side) for side in sorted((plain, inverse))) + ")"
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            plain, inverse = _operands(node, (ast.Mult, ast.Div))
            return "(" + " / ".join(" * ".join(side) for side in (plain, inverse)) + ")"
        case ast.BinOp(left=left, op=op, right=right):
            return f"({_normalize_node(left)} {type(op).__name__} {_normalize_node(right)})"
    return ast.unparse(node)


def _operands(node: ast.expr, chain: tuple[type, type]) -> tuple[list[str], list[str]]:
    """The sorted operands of a chain of sums or products: those added or multiplied, and those
    subtracted or divided by."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, chain)):
        return [_normalize_node(node)], []
    plain, inverse = _operands(node.left, chain)
    right, right_inverse = _operands(node.right, chain)
    if isinstance(node.op, chain[1]):
        right, right_inverse = right_inverse, right
    return sorted(plain + right), sorted(inverse + right_inverse)


def normalize_row(numbers: Sequence[int]) -> tuple[int, ...]:
    """The numbers without their common factor; the first that is not 0 is positive."""
    factor = gcd(*numbers) or 1
    if next((n for n in numbers if n), 1) < 0:
        factor = -factor
    return tuple(n // factor for n in numbers)


def linear_system_key(rows: Sequence[Sequence[int]], sums: Sequence[int]) -> str:
    """A key of a system of linear equations, given as rows of factors and their sums."""
    unknowns = range(len(rows[0]))
    return str(
        min(
            sorted(
                normalize_row([*(signs[c] * row[c] for c in order), total])
                for row, total in zip(rows, sums, strict=True)
            )
            for order in permutations(unknowns)
            for signs in product((1, -1), repeat=len(unknowns))
        )
    )
