"""Number theory: digits of numbers and of powers, and other bases than ten."""

from __future__ import annotations

import random

from llmzoo.envs.keys import unordered
from llmzoo.envs.math.generator.problem import Problem, asked


def digit_sum(rng: random.Random) -> Problem:
    n = rng.randint(100, 99_999)
    questions = (f"What is the sum of the digits of {n}?", f"Add up the digits of {n}.")
    program = f"print(sum(map(int, str({n}))))"
    return asked(
        rng,
        questions,
        sum(map(int, str(n))),
        program,
        f"digit sum {n}",
        f"digits {unordered(*str(n))}",
    )


def last_digit(rng: random.Random) -> Problem:
    base, power = rng.randint(2, 99), rng.randint(3, 99)
    questions = (
        f"What is the last digit of {base}^{power}?",
        f"{base} is raised to the power {power}. What is the units digit of the result?",
    )
    program = f"print(pow({base}, {power}, 10))"
    return asked(rng, questions, pow(base, power, 10), program, f"last digit {base}^{power}")


def trailing_zeros(rng: random.Random) -> Problem:
    n = rng.randint(20, 900)
    zeros = sum(n // 5**k for k in range(1, 6))
    questions = (
        f"How many zeros are at the end of {n}!, written out in base ten?",
        f"How often can {n}! = 1 · 2 · ... · {n} be divided by 10 without a remainder?",
    )
    program = f"print(sum({n} // 5 ** k for k in range(1, 10)))"
    return asked(rng, questions, zeros, program, f"zeros at end of {n}!")


def from_base(rng: random.Random) -> Problem:
    base, n = rng.randint(2, 9), rng.randint(20, 2_000)
    digits = in_base(n, base)
    questions = (
        f"A number is written {digits} in base {base}. What is it in base ten?",
        f"Write {digits} (base {base}) in base ten.",
    )
    return asked(
        rng, questions, n, f'print(int("{digits}", {base}))', f"base {base} digits {digits}"
    )


def to_base(rng: random.Random) -> Problem:
    base, n = rng.randint(2, 9), rng.randint(20, 2_000)
    questions = (
        f"Write {n} in base {base}. Give the digits only.",
        f"What are the digits of {n}, and nothing else, when it is written in base {base}?",
    )
    program = (
        f'n, digits = {n}, ""\n'
        "for _ in range(11):\n"
        f"    n, digits = n // {base}, str(n % {base}) + digits\n"
        'print(digits.lstrip("0"))'
    )
    return asked(rng, questions, in_base(n, base), program, f"{n} in base {base}")


def in_base(n: int, base: int) -> str:
    digits = ""
    while n:
        n, digit = divmod(n, base)
        digits = f"{digit}{digits}"
    return digits
