"""A drawn problem, and the notation of numbers in questions and programs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class MathProblem:
    """A question, its answer, a program that prints the answer, and the question in few words.

    Problems that differ only by a symmetry have the same ``key`` (see ``keys``). An empty key stands for
    the question in few words.
    """

    question: str
    answer: str
    program: str
    terse: str
    key: str = ""


SampleProblem = Callable[[random.Random], MathProblem]
# the kinds of problem of each level, with their weights
WeightedKinds = Mapping[str, Sequence[tuple[SampleProblem, int]]]


def format_ratio(value: Fraction) -> str:
    """An integer, or a fraction in lowest terms: ``3/8``."""
    return str(value)


def format_decimal(value: Fraction) -> str:
    """The exact decimal of a fraction whose denominator divides a power of ten: ``2.5``."""
    decimals = 0
    while (value * 10**decimals).denominator != 1:
        decimals += 1
        if decimals > 20:
            raise ValueError(f"{value} has no finite decimal")
    digits = str(abs(int(value * 10**decimals))).rjust(decimals + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else f"{sign}{digits}"


def nonzero(rng: random.Random, most: int, *, least: int = 1) -> int:
    """A number of either sign with an absolute value from ``least`` to ``most``."""
    return rng.choice((-1, 1)) * rng.randint(least, most)


def format_count(number: int, plural: str) -> str:
    """A number and what it counts, whose plural ends in -s: ``1 hour``, ``2 hours``."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
