"""Number theory: divisors, remainders and primes; :mod:`.digits` has digits and bases."""

from __future__ import annotations

import math
import random

from llmzoo.envs.keys import unordered
from llmzoo.envs.math.generator.digits import (
    digit_sum,
    from_base,
    last_digit,
    to_base,
    trailing_zeros,
)
from llmzoo.envs.math.generator.problem import Draw, Kinds, Problem, asked


def common_divisor(most: int) -> Draw:
    """The greatest common divisor of two numbers, which is at least 2 and neither of them."""

    def draw(rng: random.Random) -> Problem:
        shared = rng.randint(2, most // 8)
        a, b = (shared * k for k in rng.sample(range(2, most // shared + 1), 2))
        if max(a, b) % min(a, b) == 0:
            return draw(rng)
        questions = (
            f"What is the greatest common divisor of {a} and {b}?",
            f"Find the largest integer that divides both {a} and {b}.",
        )
        program = f"from math import gcd\nprint(gcd({a}, {b}))"
        return asked(
            rng, questions, math.gcd(a, b), program, f"gcd {a} {b}", f"gcd {unordered(a, b)}"
        )

    return draw


def common_multiple(most: int) -> Draw:
    def draw(rng: random.Random) -> Problem:
        a, b = rng.sample(range(2, most + 1), 2)
        questions = (
            f"What is the least common multiple of {a} and {b}?",
            f"Find the smallest positive integer that both {a} and {b} divide.",
        )
        program = f"from math import lcm\nprint(lcm({a}, {b}))"
        return asked(
            rng, questions, math.lcm(a, b), program, f"lcm {a} {b}", f"lcm {unordered(a, b)}"
        )

    return draw


def remainder(most: int, divisors: int) -> Draw:
    def draw(rng: random.Random) -> Problem:
        b = rng.randint(6, divisors)  # more remainders than there are rounds to guess in
        a = rng.randint(max(10, b + 1), most)
        questions = (
            f"What is the remainder when {a} is divided by {b}?",
            f"{a} things are put in boxes of {b} until no full box can be made. How many are left?",
        )
        return asked(rng, questions, a % b, f"print({a} % {b})", f"rest {a} by {b}")

    return draw


def divisor_count(most: int) -> Draw:
    def draw(rng: random.Random) -> Problem:
        n = rng.randint(12, most)
        count = math.prod(power + 1 for power in factors(n).values())
        questions = (
            f"How many positive divisors does {n} have?",
            f"By how many positive integers, 1 and itself included, can {n} be divided exactly?",
        )
        program = f"print(sum({n} % d == 0 for d in range(1, {n} + 1)))"
        return asked(rng, questions, count, program, f"count divisors {n}")

    return draw


def largest_prime(most: int) -> Draw:
    """The largest prime factor of a number that is not prime."""

    def draw(rng: random.Random) -> Problem:
        n = rng.randint(2, most // 6) * rng.randint(2, 6)
        program = (
            f"divisors = [d for d in range(2, {n} + 1) if {n} % d == 0]\n"
            "print(max(p for p in divisors if all(p % d for d in range(2, p))))"
        )
        questions = (
            f"What is the largest prime factor of {n}?",
            f"Which is the largest prime number that divides {n}?",
        )
        return asked(rng, questions, max(factors(n)), program, f"largest prime of {n}")

    return draw


def primes_between(rng: random.Random) -> Problem:
    low = rng.randint(1, 150)
    high = low + rng.randint(8, 60)
    count = sum(is_prime(n) for n in range(low, high + 1))
    program = (
        f"print(sum(n > 1 and all(n % d for d in range(2, n)) for n in range({low}, {high} + 1)))"
    )
    questions = (
        f"How many prime numbers are there from {low} to {high}, both included?",
        f"Count the primes p with {low} <= p <= {high}.",
    )
    return asked(rng, questions, count, program, f"count primes {low} to {high}")


def power_remainder(rng: random.Random) -> Problem:
    base, power, modulus = rng.randint(2, 99), rng.randint(20, 999), rng.randint(7, 199)
    questions = (
        f"What is the remainder when {base}^{power} is divided by {modulus}?",
        f"Find the smallest integer n >= 0 for which {base}^{power} - n is a multiple of {modulus}.",
    )
    program = f"print(pow({base}, {power}, {modulus}))"
    return asked(
        rng, questions, pow(base, power, modulus), program, f"rest {base}^{power} by {modulus}"
    )


def two_remainders(rng: random.Random) -> Problem:
    """The Chinese remainder theorem with coprime moduli."""
    while True:
        m, n = rng.sample(range(5, 40), 2)
        if math.gcd(m, n) == 1:
            break
    x = rng.randrange(1, m * n)
    a, b = x % m, x % n
    questions = (
        f"What is the smallest positive integer that leaves the remainder {a} when divided by {m} "
        f"and the remainder {b} when divided by {n}?",
        f"Find the smallest integer x > 0 with x ≡ {a} (mod {m}) and x ≡ {b} (mod {n}).",
    )
    program = f"print(next(x for x in range(1, {m * n} + 1) if x % {m} == {a} and x % {n} == {b}))"
    conditions = f"rest {a} by {m}", f"rest {b} by {n}"
    return asked(
        rng, questions, x, program, f"smallest x {' '.join(conditions)}", unordered(*conditions)
    )


def inverse(rng: random.Random) -> Problem:
    while True:
        n = rng.randint(7, 150)
        a = rng.randint(2, n - 1)
        if math.gcd(a, n) == 1:
            break
    questions = (
        f"For which integer x from 1 to {n - 1} does {a}x leave the remainder 1 when divided by {n}?",
        f"Find the inverse of {a} modulo {n}, as a number from 1 to {n - 1}.",
    )
    x = pow(a, -1, n)
    return asked(
        rng,
        questions,
        x,
        f"print(pow({a}, -1, {n}))",
        f"inverse of {a} by {n}",
        f"inverses {unordered(a, x)} by {n}",
    )


def coprime_count(rng: random.Random) -> Problem:
    n = rng.randint(30, 900)
    count = n
    for prime in factors(n):
        count -= count // prime
    questions = (
        f"How many of the integers from 1 to {n} have no common factor with {n} other than 1?",
        f"What is Euler's totient of {n}, the count of integers from 1 to {n} coprime to it?",
    )
    program = f"from math import gcd\nprint(sum(gcd(k, {n}) == 1 for k in range(1, {n} + 1)))"
    return asked(rng, questions, count, program, f"count coprime to {n}")


def divisor_sum(rng: random.Random) -> Problem:
    n = rng.randint(30, 900)
    total = math.prod((p ** (k + 1) - 1) // (p - 1) for p, k in factors(n).items())
    questions = (
        f"What is the sum of all positive divisors of {n}, 1 and {n} included?",
        f"Add up all positive integers that divide {n}, {n} among them.",
    )
    program = f"print(sum(d for d in range(1, {n} + 1) if {n} % d == 0))"
    return asked(rng, questions, total, program, f"sum divisors {n}")


def factors(n: int) -> dict[int, int]:
    """The prime factors of a number, each with its power."""
    found: dict[int, int] = {}
    prime = 2
    while prime * prime <= n:
        while n % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            n //= prime
        prime += 1
    if n > 1:
        found[n] = found.get(n, 0) + 1
    return found


def is_prime(n: int) -> bool:
    return n > 1 and max(factors(n)) == n


KINDS: Kinds = {
    "easy": (
        (common_divisor(100), 2),
        (remainder(999, 12), 2),
        (digit_sum, 1),
        (divisor_count(60), 1),
        (largest_prime(200), 1),
    ),
    "medium": (
        (common_divisor(2_000), 1),
        (common_multiple(60), 2),
        (remainder(99_999, 99), 1),
        (divisor_count(500), 1),
        (largest_prime(2_000), 1),
        (last_digit, 2),
        (primes_between, 1),
        (from_base, 1),
    ),
    "hard": (
        (power_remainder, 2),
        (two_remainders, 2),
        (inverse, 2),
        (coprime_count, 1),
        (divisor_sum, 1),
        (trailing_zeros, 1),
        (to_base, 2),
    ),
}
