"""Algebra: linear and quadratic inequalities, whose solutions are an interval."""

from __future__ import annotations

import random
from fractions import Fraction

from llmzoo.envs.math.generator.formulas import (
    drop_coefficient_spaces,
    format_subtrahend,
    format_sum,
)
from llmzoo.envs.math.generator.problem import MathProblem, format_ratio, nonzero
from llmzoo.envs.symmetry_keys import normalize_row

_INTERVAL = "Give all its solutions as an interval, such as (2, \\infty) or [-1, 5]."


def inequality(rng: random.Random) -> MathProblem:
    """``a x + b < c``, with every sign of comparison and of ``a``."""
    a, b, c = nonzero(rng, 9), nonzero(rng, 40), nonzero(rng, 40)
    sign = rng.choice(("<", "<=", ">", ">="))
    bound = Fraction(c - b, a)
    upper = (sign[0] == "<") == (a > 0)  # the solutions lie below the bound
    closed = sign.endswith("=")
    inequality_text = f"{format_sum([(a, 'x'), (b, '')])} {sign} {c}"
    form = (
        f"(-\\infty, {{}}{']' if closed else ')'}"
        if upper
        else f"{'[' if closed else '('}{{}}, \\infty)"
    )
    program = (
        "from fractions import Fraction\n"
        f"bound = Fraction({c} - {format_subtrahend(b)}, {a})\n"
        f'print(r"{form}".format(bound))'
    )
    # x and -x exchange the two sides of the bound
    above, below = (not upper, *normalize_row([a, b, c])), (upper, *normalize_row([a, -b, -c]))
    return MathProblem(
        f"Solve {drop_coefficient_spaces(inequality_text)} for x. {_INTERVAL} Fractions are in lowest terms.",
        form.format(format_ratio(bound)),
        program,
        f"interval of x with {inequality_text}",
        f"{closed} {min(above, below)}",
    )


def quadratic_inequality(rng: random.Random) -> MathProblem:
    """A quadratic inequality whose solutions lie between the roots."""
    low, high = sorted(rng.sample(range(-20, 21), 2))
    k = rng.choice((-3, -2, -1, 1, 2, 3))
    closed = rng.random() < 0.5
    sign = ("<" if k > 0 else ">") + ("=" if closed else "")
    a, b, c = k, -k * (low + high), k * low * high
    inequality_text = f"{format_sum([(a, 'x^2'), (b, 'x'), (c, '')])} {sign} 0"
    form = "[{}, {}]" if closed else "({}, {})"
    program = (
        "from math import isqrt\n"
        f"a, b, c = {a}, {b}, {c}\n"
        "root = isqrt(b * b - 4 * a * c)\n"
        "low, high = sorted([(-b - root) // (2 * a), (-b + root) // (2 * a)])\n"
        f'print("{form}".format(low, high))'
    )
    return MathProblem(
        f"Solve {drop_coefficient_spaces(inequality_text)} for x. {_INTERVAL}",
        form.format(low, high),
        program,
        f"interval of x with {inequality_text}",
        f"between {closed} {normalize_row([a, abs(b) if a > 0 else -abs(b), c])}",
    )
