"""Questions that no article answers: arithmetic for the calculator, and integers for a program."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from functools import cache

from llmzoo.envs.symmetry_keys import commutative_key
from llmzoo.envs.tools.tool_use.questions import (
    ToolQuestion,
    calculator_call,
    numeric_answer,
    python_call,
)

ProgramQuestion = tuple[str, str, int]  # the question, a program that answers it, the answer

_SIEVED = 60_000


def arithmetic(rng: random.Random) -> ToolQuestion:
    """An expression with large numbers: ``calculator``."""
    a, b, c = (rng.randrange(1_000, 100_000) for _ in range(3))
    small = rng.randrange(3, 400)
    expression, result = rng.choice(
        (
            (f"{a} * {b} - {c}", a * b - c),
            (f"({a} + {b}) * {c}", (a + b) * c),
            (f"{a}^2 - {b} * {small}", a**2 - b * small),
            (f"{small} * ({a} - {b}) + {c}", small * (a - b) + c),
            (f"{a} * {small} * {c}", a * small * c),
            (f"{a} % {small} + {b} * {c}", a % small + b * c),
        )
    )
    return ToolQuestion(
        text=(
            f"What is {expression}? Here * is times, ^ is to the power of, and % is the remainder of a "
            "division. Answer with the number alone."
        ),
        target=numeric_answer(result),
        steps=(calculator_call(expression, result),),
        family="arithmetic",
        content=f"arithmetic {commutative_key(expression)}",
    )


def integers(rng: random.Random) -> ToolQuestion:
    """A property of whole numbers: ``python``."""
    asked, code, result = rng.choice((_digit_sum, _primes, _divisible, _largest_prime, _collatz))(
        rng
    )
    return ToolQuestion(
        text=f"{asked} Answer with the number alone.",
        target=numeric_answer(result),
        steps=(python_call(code, result),),
        family="integers",
        content=f"integers {asked}",
    )


def _digit_sum(rng: random.Random) -> ProgramQuestion:
    base, exponent = rng.randrange(3, 100), rng.randrange(40, 200)
    return (
        f"What is the sum of the decimal digits of {base} to the power of {exponent}?",
        f"sum(int(digit) for digit in str({base} ** {exponent}))",
        sum(map(int, str(base**exponent))),
    )


def _primes(rng: random.Random) -> ProgramQuestion:
    low = rng.randrange(1_000, 30_000)
    high = low + rng.randrange(500, 20_000)
    return (
        f"How many prime numbers are there from {low} to {high}, both included?",
        f"sum(all(n % d for d in range(2, int(n ** 0.5) + 1)) for n in range({low}, {high} + 1))",
        bisect_right(_all_primes(), high) - bisect_left(_all_primes(), low),
    )


def _divisible(rng: random.Random) -> ProgramQuestion:
    a, b = sorted(rng.sample(range(3, 40), 2))  # in one order: exchanged they ask the same
    low = rng.randrange(100, 5_000)
    high = low + rng.randrange(900, 9_000)
    result = sum((n % a == 0) != (n % b == 0) for n in range(low, high + 1))
    return (
        f"How many whole numbers from {low} to {high}, both included, can be divided by {a} or by {b} "
        "but not by both?",
        f"sum((n % {a} == 0) != (n % {b} == 0) for n in range({low}, {high} + 1))",
        result,
    )


def _largest_prime(rng: random.Random) -> ProgramQuestion:
    # a product: a prime would be its own answer
    n = rng.randrange(2, 1_000) * rng.randrange(10**4, 10**6)
    code = (
        f"n, factor = {n}, 2\nwhile factor * factor <= n:\n    if n % factor:\n        factor += 1\n"
        "    else:\n        n //= factor\nn"
    )
    rest = n
    for prime in _all_primes():
        while rest % prime == 0 and rest > prime:
            rest //= prime
        if prime * prime > rest:
            break
    return f"What is the largest prime factor of {n}?", code, rest


def _collatz(rng: random.Random) -> ProgramQuestion:
    start = rng.randrange(1_000, 1_000_000)
    code = (
        f"n, steps = {start}, 0\nwhile n != 1:\n    n = 3 * n + 1 if n % 2 else n // 2\n    steps += 1\n"
        "steps"
    )
    n, count = start, 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return (
        f"Start with {start}. Halve an even number; of an odd one take three times it plus one. After how "
        "many such steps does 1 come up for the first time?",
        code,
        count,
    )


@cache
def _all_primes() -> list[int]:
    """The primes below 60,000, among them every one up to the root of a billion."""
    composite = bytearray(_SIEVED)
    primes = []
    for n in range(2, _SIEVED):
        if not composite[n]:
            primes.append(n)
            composite[n * n :: n] = b"\1" * len(range(n * n, _SIEVED, n))
    return primes
