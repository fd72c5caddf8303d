"""Arithmetic: integers, fractions, decimals and brackets, worked out exactly.

A problem is an expression, and its terse form is the expression alone. An easy problem has one operation
on integers of at most two digits. 37 + 48 and 48 + 37 are two tasks in the same split.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from llmzoo.envs.math.generator.problem import (
    MathProblem,
    WeightedKinds,
    format_decimal,
    format_ratio,
)
from llmzoo.envs.symmetry_keys import commutative_key

_ASK = (
    "Compute {}.",
    "What is {}?",
    "Work out {}.",
    "Find the value of {}.",
    "Evaluate {}.",
)
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_SIGNS = {"+": "+", "-": "-", "*": "×", "/": "÷"}  # in a question in words


# Integers


def _sum(most: int) -> Callable[[random.Random], MathProblem]:
    def draw(rng: random.Random) -> MathProblem:
        a, b = rng.randint(0, most), rng.randint(0, most)
        return _integer_problem(rng, f"{a} + {b}", a + b)

    return draw


def _difference(most: int, *, negative: bool) -> Callable[[random.Random], MathProblem]:
    def draw(rng: random.Random) -> MathProblem:
        a, b = rng.randint(0, most), rng.randint(0, most)
        if not negative:
            a, b = max(a, b), min(a, b)
        return _integer_problem(rng, f"{a} - {b}", a - b)

    return draw


def _product(least: int, first: int, second: int) -> Callable[[random.Random], MathProblem]:
    def draw(rng: random.Random) -> MathProblem:
        a, b = rng.randint(least, first), rng.randint(least, second)
        return _integer_problem(rng, f"{a} * {b}", a * b)

    return draw


def _quotient(
    divisors: tuple[int, int], quotients: tuple[int, int]
) -> Callable[[random.Random], MathProblem]:
    def draw(rng: random.Random) -> MathProblem:
        divisor, quotient = rng.randint(*divisors), rng.randint(*quotients)
        return _integer_problem(rng, f"{divisor * quotient} / {divisor}", quotient)

    return draw


def _brackets(rng: random.Random) -> MathProblem:
    """A sum or difference in brackets, times a digit, or a product with a term beside it."""
    a, b, c = rng.randint(2, 40), rng.randint(2, 40), rng.randint(2, 9)
    form = rng.randrange(4)
    if form == 0:
        return _integer_problem(rng, f"({a} + {b}) * {c}", (a + b) * c)
    if form == 1:
        return _integer_problem(rng, f"{c} * ({a} - {b})", c * (a - b))
    if form == 2:
        return _integer_problem(rng, f"{a} + {b} * {c}", a + b * c)
    return _integer_problem(rng, f"{a} * {c} - {b}", a * c - b)


def _nested_brackets(rng: random.Random) -> MathProblem:
    """A product or an integer quotient of brackets, and one more term."""
    a, b, c, d = (rng.randint(2, 30) for _ in range(4))
    e = rng.randint(2, 99)
    form = rng.randrange(4)
    if form == 0:
        return _integer_problem(rng, f"({a} + {b}) * ({c} - {d}) + {e}", (a + b) * (c - d) + e)
    if form == 1:
        return _integer_problem(rng, f"{e} - ({a} - {b}) * ({c} + {d})", e - (a - b) * (c + d))
    if form == 2:
        divisor = c + d
        return _integer_problem(rng, f"({a * divisor - b} + {b}) / ({c} + {d}) - {e}", a - e)
    return _integer_problem(rng, f"{a} * ({b} + {c} * ({d} - {e}))", a * (b + c * (d - e)))


def _integer_problem(rng: random.Random, terse: str, value: int) -> MathProblem:
    return MathProblem(
        question=_phrase_question(rng, terse),
        answer=str(value),
        program=f"print({terse.replace('/', '//')})",
        terse=terse,
        key=commutative_key(terse),
    )


# Fractions


def _fractions(
    operations: str, most: int, *, terms: int = 2
) -> Callable[[random.Random], MathProblem]:
    """Proper fractions with denominators up to ``most``."""

    def draw(rng: random.Random) -> MathProblem:
        parts = [_proper(rng, most) for _ in range(terms)]
        signs = [rng.choice(operations) for _ in range(terms - 1)]
        terse, program, value = f"{parts[0]}", _fraction_call(parts[0]), parts[0]
        for number, (sign, part) in enumerate(zip(signs, parts[1:], strict=True)):
            if sign == "*" and number > 0:  # the left side is computed first
                terse, program = f"({terse})", f"({program})"
            written = f"({part})" if sign == "/" else f"{part}"
            terse, program = f"{terse} {sign} {written}", f"{program} {sign} {_fraction_call(part)}"
            value = _OPERATIONS[sign](value, part)
        return MathProblem(
            question=f"{_phrase_question(rng, terse)} Give a fraction in lowest terms, or an integer.",
            answer=format_ratio(value),
            program=f"from fractions import Fraction\nprint({program})",
            terse=terse,
            key=commutative_key(terse),
        )

    return draw


def _proper(rng: random.Random, most: int) -> Fraction:
    denominator = rng.randint(2, most)
    return Fraction(rng.randint(1, denominator - 1), denominator)


def _fraction_call(value: Fraction) -> str:
    return f"Fraction({value.numerator}, {value.denominator})"


# Decimals


def _decimals(operations: str, most: int, decimals: int) -> Callable[[random.Random], MathProblem]:
    """Two decimals below ``most`` with up to ``decimals`` digits after the point."""

    def draw(rng: random.Random) -> MathProblem:
        a, b = (_decimal(rng, most, decimals) for _ in range(2))
        sign = rng.choice(operations)
        if sign == "/":  # the quotient is a factor of the product
            a = a * b
            value = a / b
        else:
            value = _OPERATIONS[sign](a, b)
        terse = f"{format_decimal(a)} {sign} {format_decimal(b)}"
        calls = f'Decimal("{format_decimal(a)}") {sign} Decimal("{format_decimal(b)}")'
        return MathProblem(
            question=f"{_phrase_question(rng, terse)} Give the exact decimal.",
            answer=format_decimal(value),
            program=f"from decimal import Decimal\nprint({calls})",
            terse=terse,
            key=commutative_key(terse),
        )

    return draw


def _decimal(rng: random.Random, most: int, decimals: int) -> Fraction:
    """A number with at least one digit other than 0 after the point."""
    scale = 10 ** rng.randint(1, decimals)
    while True:
        value = Fraction(rng.randint(1, most * scale - 1), scale)
        if value.denominator > 1:
            return value


def _phrase_question(rng: random.Random, terse: str) -> str:
    """The question in words, with the signs of a textbook; a fraction's bar stays."""
    shown = " ".join(_SIGNS.get(atom, atom) for atom in terse.split(" "))
    return rng.choice(_ASK).format(shown)


KINDS: WeightedKinds = {
    "easy": (
        (_sum(99), 4),
        (_difference(99, negative=False), 4),
        (_product(0, 9, 9), 1),
        (_quotient((1, 9), (0, 9)), 1),
    ),
    "medium": (
        (_sum(999), 2),
        (_difference(999, negative=True), 2),
        (_product(2, 99, 99), 2),
        (_quotient((2, 12), (11, 99)), 2),
        (_brackets, 3),
        (_fractions("+-", 9), 2),
        (_decimals("+-", 20, 1), 2),
    ),
    "hard": (
        (_sum(99_999), 1),
        (_difference(99_999, negative=True), 1),
        (_product(100, 999, 9_999), 2),
        (_quotient((13, 99), (101, 999)), 2),
        (_nested_brackets, 3),
        (_fractions("*/", 20), 2),
        (_fractions("+-*", 12, terms=3), 2),
        (_decimals("+-*/", 50, 2), 3),
    ),
}
