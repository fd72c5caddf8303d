"""What the functions of a family draw, and how numbers are written in questions and programs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Problem:
    """A question, its answer, a program that prints it, and the question in few words.

    ``key`` is equal for problems that differ only by a symmetry (see ``keys``); empty where the
    question in few words has none.
    """

    question: str
    answer: str
    program: str
    terse: str
    key: str = ""


Draw = Callable[[random.Random], Problem]
# the kinds of problem of each level, with how often each is drawn
Kinds = Mapping[str, Sequence[tuple[Draw, int]]]


def ratio(value: Fraction) -> str:
    """An integer, or a fraction in lowest terms: ``3/8``."""
    return str(value)


def decimal(value: Fraction) -> str:
    """The exact decimal of a fraction whose denominator divides a power of ten: ``2.5``."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
        if places > 20:
            raise ValueError(f"{value} has no finite decimal")
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def nonzero(rng: random.Random, most: int, *, least: int = 1) -> int:
    """A number whose size is from ``least`` to ``most``, with either sign."""
    return rng.choice((-1, 1)) * rng.randint(least, most)


def counted(number: int, plural: str) -> str:
    """A number and what it counts, whose plural ends in -s: ``1 hour``, ``2 hours``."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
