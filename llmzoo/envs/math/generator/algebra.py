"""Algebra: linear and quadratic equations, systems, inequalities.

Problems are built from their solutions. The question names the form of the answer: a number, a set
``{1, 4}``, a pair ``(2, -3)``, an interval ``(2, \\infty)``.
"""

from __future__ import annotations

import random
from fractions import Fraction

from llmzoo.envs.math.generator.formulas import (
    drop_coefficient_spaces,
    format_equation,
    format_subtrahend,
    format_sum,
)
from llmzoo.envs.math.generator.inequalities import inequality, quadratic_inequality
from llmzoo.envs.math.generator.problem import MathProblem, WeightedKinds, format_ratio, nonzero
from llmzoo.envs.symmetry_keys import linear_system_key, normalize_row

_SET = "Give the set of all its solutions in ascending order, such as {-1, 4}."
_PAIR = "Give the pair (x, y), such as (2, -3)."
_TRIPLE = "Give the triple (x, y, z), such as (2, -3, 0)."
_FRACTION = "Give a fraction in lowest terms, or an integer."


def linear(rng: random.Random) -> MathProblem:
    """``a x + b = c`` with an integer solution."""
    a, b, x = rng.randint(1, 9), nonzero(rng, 30), rng.randint(-12, 12)
    equation = format_equation([(a, "x"), (b, "")], a * x + b)
    program = f"print(({a * x + b} - {format_subtrahend(b)}) // {a})"
    return _equation_problem(rng, equation, Fraction(x), program, f"{_linear(a, b, a * x + b)}")


def _linear(a: int, b: int, c: int) -> tuple[int, ...]:
    """The key of ``a x + b = c``: equal for ``b`` and ``c`` on either side, and for ``-x``."""
    return min(map(normalize_row, ([a, b, c], [a, -c, -b], [a, -b, -c], [a, c, b])))


def linear_both_sides(rng: random.Random) -> MathProblem:
    """``a x + b = c x + d`` with a solution that may be a fraction."""
    a = nonzero(rng, 12)
    c = rng.choice([n for n in range(-12, 13) if n not in (0, a)])
    b, d = nonzero(rng, 40), nonzero(rng, 40)
    equation = format_equation([(a, "x"), (b, "")], [(c, "x"), (d, "")])
    program = (
        "from fractions import Fraction\n"
        f"print(Fraction({d} - {format_subtrahend(b)}, {a} - {format_subtrahend(c)}))"
    )
    sides = min(map(normalize_row, ([a, b, c, d], [c, d, a, b], [a, -b, c, -d], [c, -d, a, -b])))
    return _equation_problem(rng, equation, Fraction(d - b, a - c), program, f"both sides {sides}")


def linear_with_brackets(rng: random.Random) -> MathProblem:
    """``a (x + b) + c = d (x + e)``."""
    a = nonzero(rng, 12, least=2)
    d = rng.choice([n for n in range(-12, 13) if abs(n) > 1 and n != a])
    b, c, e = nonzero(rng, 15), nonzero(rng, 50), nonzero(rng, 15)
    left = f"{a} ({format_sum([(1, 'x'), (b, '')])}) {'+' if c > 0 else '-'} {abs(c)}"
    right = f"{d} ({format_sum([(1, 'x'), (e, '')])})"
    solution = Fraction(d * e - a * b - c, a - d)
    program = (
        "from fractions import Fraction\n"
        f"a, b, c, d, e = {a}, {b}, {c}, {d}, {e}\n"
        "print(Fraction(d * e - a * b - c, a - d))"
    )
    key = f"brackets {min((*normalize_row([a, c, d]), b, e), (*normalize_row([a, -c, d]), -b, -e))}"
    return _equation_problem(rng, f"{left} = {right}", solution, program, key)


def quadratic(rng: random.Random) -> MathProblem:
    """``k x^2 + b x + c = 0`` with two integer solutions; asks for both, the larger or the smaller."""
    low, high = sorted(rng.sample(range(-15, 16), 2))
    k = rng.choice((1, 1, 1, 2, 3))
    b, c = -k * (low + high), k * low * high
    equation = format_equation([(k, "x^2"), (b, "x"), (c, "")], 0)
    roots = (
        "from math import isqrt\n"
        f"a, b, c = {k}, {b}, {c}\n"
        "root = isqrt(b * b - 4 * a * c)\n"
        "low, high = (-b - root) // (2 * a), (-b + root) // (2 * a)\n"
    )
    which = rng.choice(("all", "larger", "smaller"))
    if which == "all":
        return MathProblem(
            f"Solve {drop_coefficient_spaces(equation)}. {_SET}",
            f"{{{low}, {high}}}",
            f'{roots}print("{{" + f"{{low}}, {{high}}" + "}}")',
            f"all x with {equation}",
            f"roots of {normalize_row([k, abs(b), c])}",  # the same for x and -x, and for either root
        )
    return MathProblem(
        f"What is the {which} of the two solutions of {drop_coefficient_spaces(equation)}?",
        str(high if which == "larger" else low),
        f"{roots}print({'high' if which == 'larger' else 'low'})",
        f"{which} x with {equation}",
        f"roots of {normalize_row([k, abs(b), c])}",
    )


def rational_quadratic(rng: random.Random) -> MathProblem:
    """``(p x - q)(r x - s) = 0``, expanded; its solutions may be fractions."""
    while True:
        p, r = rng.randint(1, 5), rng.randint(2, 6)
        q, s = nonzero(rng, 12), nonzero(rng, 12)
        low, high = sorted((Fraction(q, p), Fraction(s, r)))
        if low != high:
            break
    a, b, c = p * r, -(p * s + q * r), q * s
    equation = format_equation([(a, "x^2"), (b, "x"), (c, "")], 0)
    program = (
        "from fractions import Fraction\n"
        "from math import isqrt\n"
        f"a, b, c = {a}, {b}, {c}\n"
        "root = isqrt(b * b - 4 * a * c)\n"
        "low, high = Fraction(-b - root, 2 * a), Fraction(-b + root, 2 * a)\n"
        'print("{" + f"{low}, {high}" + "}")'
    )
    return MathProblem(
        f"Solve {drop_coefficient_spaces(equation)}. {_SET} Fractions are in lowest terms.",
        f"{{{format_ratio(low)}, {format_ratio(high)}}}",
        program,
        f"all x with {equation}",
        f"roots of {normalize_row([a, abs(b), c])}",
    )


def function_of_roots(rng: random.Random) -> MathProblem:
    """A symmetric function of the solutions, which need not be rational themselves."""
    a, b, c = rng.randint(1, 6), nonzero(rng, 20), nonzero(rng, 20)
    total, product = Fraction(-b, a), Fraction(c, a)
    formula, value, code = rng.choice(
        (
            ("r^2 + s^2", total**2 - 2 * product, "total ** 2 - 2 * product"),
            ("1/r + 1/s", total / product, "total / product"),
            ("(r - s)^2", total**2 - 4 * product, "total ** 2 - 4 * product"),
            ("r^2 s + r s^2", total * product, "total * product"),
        )
    )
    equation = format_equation([(a, "x^2"), (b, "x"), (c, "")], 0)
    program = (
        "from fractions import Fraction\n"
        f"total, product = Fraction({-b}, {a}), Fraction({c}, {a})\n"
        f"print({code})"
    )
    return MathProblem(
        f"Let r and s be the two solutions, real or complex, of {drop_coefficient_spaces(equation)}; a double one "
        f"counts twice. What is {formula}? {_FRACTION}",
        format_ratio(value),
        program,
        f"r s solve {equation} find {formula}",
        f"{formula} of {normalize_row([a, abs(b), c])}",
    )


def linear_pair(rng: random.Random) -> MathProblem:
    """Two equations in x and y with an integer solution."""
    while True:
        a, b, c, d = (nonzero(rng, 6) for _ in range(4))
        if a * d != b * c:
            break
    x, y = rng.randint(-9, 9), rng.randint(-9, 9)
    e, f = a * x + b * y, c * x + d * y
    first = format_equation([(a, "x"), (b, "y")], e)
    second = format_equation([(c, "x"), (d, "y")], f)
    program = (
        f"a, b, e = {a}, {b}, {e}\n"
        f"c, d, f = {c}, {d}, {f}\n"
        "det = a * d - b * c\n"
        "print(((e * d - b * f) // det, (a * f - e * c) // det))"
    )
    return MathProblem(
        f"Solve the system {drop_coefficient_spaces(first)} and {drop_coefficient_spaces(second)}. {_PAIR}",
        f"({x}, {y})",
        program,
        f"x y with {first} and {second}",
        linear_system_key([[a, b], [c, d]], [e, f]),
    )


def linear_triple(rng: random.Random) -> MathProblem:
    """Three equations in x, y and z with an integer solution."""
    while True:
        rows = [[nonzero(rng, 4) for _ in range(3)] for _ in range(3)]
        if _determinant(rows) != 0:
            break
    solution = [rng.randint(-6, 6) for _ in range(3)]
    sums = [sum(a * x for a, x in zip(row, solution, strict=True)) for row in rows]
    equations = [
        format_equation([(a, name) for a, name in zip(row, "xyz", strict=True)], total)
        for row, total in zip(rows, sums, strict=True)
    ]
    program = (
        f"rows, sums = {rows}, {sums}\n"
        "def det(m):\n"
        "    (a, b, c), (d, e, f), (g, h, i) = m\n"
        "    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)\n"
        "def put(k):\n"
        "    return [r[:k] + [s] + r[k + 1:] for r, s in zip(rows, sums)]\n"
        "print(tuple(det(put(k)) // det(rows) for k in range(3)))"
    )
    shown = f"{drop_coefficient_spaces(equations[0])}, {drop_coefficient_spaces(equations[1])} and {drop_coefficient_spaces(equations[2])}"
    return MathProblem(
        f"Solve the system {shown}. {_TRIPLE}",
        f"({', '.join(map(str, solution))})",
        program,
        f"x y z with {' and '.join(equations)}",
        linear_system_key(rows, sums),
    )


def _equation_problem(
    rng: random.Random, equation: str, solution: Fraction, program: str, key: str
) -> MathProblem:
    asked = rng.choice(
        ("Solve {} for x.", "Find x if {}.", "For which x is {}?", "What is x, given that {}?")
    )
    form = f" {_FRACTION}" if solution.denominator > 1 or "Fraction" in program else ""
    return MathProblem(
        asked.format(drop_coefficient_spaces(equation)) + form,
        format_ratio(solution),
        program,
        f"solve {equation} for x",
        f"solve {key}",
    )


def _determinant(m: list[list[int]]) -> int:
    (a, b, c), (d, e, f), (g, h, i) = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


KINDS: WeightedKinds = {
    "easy": ((linear, 1),),
    "medium": ((linear_both_sides, 2), (quadratic, 3), (linear_pair, 2), (inequality, 2)),
    "hard": (
        (linear_with_brackets, 2),
        (rational_quadratic, 2),
        (function_of_roots, 2),
        (linear_triple, 1),
        (quadratic_inequality, 2),
    ),
}
