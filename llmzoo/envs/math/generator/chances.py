"""Chances: shares of what is equally likely."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

from llmzoo.envs.keys import unordered
from llmzoo.envs.math.generator.problem import Problem, asked, counted

_FRACTION = "Give a fraction in lowest terms."


def same_colour(rng: random.Random) -> Problem:
    """The chance that two balls drawn without putting back are of one colour."""
    a, b, c = rng.randint(2, 12), rng.randint(2, 12), rng.randint(0, 9)
    total = a + b + c
    balls = [f"{a} red balls", f"{b} blue balls"] + ([counted(c, "green balls")] if c else [])
    shown = f"{', '.join(balls[:-1])} and {balls[-1]}"
    questions = (
        f"An urn holds {shown}. Two are drawn at random without putting the first "
        f"back. What is the probability that they have the same colour? {_FRACTION}",
    )
    return asked(
        rng,
        questions,
        Fraction(comb(a, 2) + comb(b, 2) + comb(c, 2), comb(total, 2)),
        "from fractions import Fraction\nfrom math import comb\n"
        f"same = comb({a}, 2) + comb({b}, 2) + comb({c}, 2)\n"
        f"print(Fraction(same, comb({total}, 2)))",
        f"chance two same of {a} {b} {c}",
        f"two same {unordered(a, b, c)}",
    )


def dice_sum(rng: random.Random) -> Problem:
    """The chance of a sum with two fair dice that need not be cubes."""
    a, b = rng.choice((4, 6, 8, 10, 12, 20)), rng.choice((4, 6, 8, 10, 12, 20))
    least = rng.randint(3, a + b - 1)
    ways = sum(max(0, b - max(1, least - i) + 1) for i in range(1, a + 1))
    questions = (
        f"A fair die with the numbers 1 to {a} and one with the numbers 1 to {b} are thrown. What "
        f"is the probability that the sum is at least {least}? {_FRACTION}",
    )
    return asked(
        rng,
        questions,
        Fraction(ways, a * b),
        "from fractions import Fraction\n"
        f"good = sum(i + j >= {least} for i in range(1, {a} + 1) for j in range(1, {b} + 1))\n"
        f"print(Fraction(good, {a} * {b}))",
        f"chance dice {a} {b} sum at least {least}",
        f"dice {unordered(a, b)} at least {least}",
    )
