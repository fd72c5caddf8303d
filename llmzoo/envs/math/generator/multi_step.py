"""Multi-step problems: numbers defined one after another, later ones by earlier ones.

A step is drawn for the values that are there, so that every number stays whole and of a size that a
person would write down.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from llmzoo.envs.keys import commuted, unordered
from llmzoo.envs.math.generator.number_theory import factors
from llmzoo.envs.math.generator.problem import Draw, Kinds, Problem

_MOST = 9_999  # no number grows beyond


@dataclass(frozen=True, slots=True)
class Step:
    """A number: its definition in words and in few words, how a program computes it, its value, and
    what definitions share that differ only in the order of two numbers."""

    words: str
    terse: str
    code: str
    value: int
    key: str = ""


Named = dict[str, int]  # the numbers so far


def chain(steps: int) -> Draw:
    """``steps`` numbers, of which each but the first uses at least one before it."""

    def draw(rng: random.Random) -> Problem:
        values: Named = {}
        lines, terse, program, keys = [], [], [], []
        for number in range(steps):
            name = "abcde"[number]
            step = rng.choice(_FIRST)(rng) if not values else _next(rng, values)
            values[name] = step.value
            lines.append(f"Let {name} be {step.words}.")
            terse.append(f"{name} = {step.terse}")
            program.append(f"{name} = {step.code}")
            keys.append(step.key or step.terse)
        last = "abcde"[steps - 1]
        needs = [text for name, text in _NEEDS.items() if any(f"{name}(" in p for p in program)]
        return Problem(
            f"{' '.join(lines)} What is {last}?",
            str(values[last]),
            "\n".join([*needs, *program, f"print({last})"]),
            "\n".join([*terse, f"find {last}"]),
            "\n".join(keys),
        )

    return draw


# what a program that uses a name begins with
_NEEDS = {
    "gcd": "from math import gcd",
    "lcm": "from math import lcm",
    "divisors": "def divisors(n):\n    return [d for d in range(1, n + 1) if n % d == 0]",
}


def _product(rng: random.Random) -> Step:
    x, y = rng.randint(3, 40), rng.randint(3, 40)
    text = f"{x} * {y}"
    return Step(f"the product of {x} and {y}", text, text, x * y, commuted(text))


def _difference_of_squares(rng: random.Random) -> Step:
    x = rng.randint(5, 40)
    y = rng.randint(1, x - 1)
    return Step(f"the difference {x}^2 - {y}^2", f"{x}^2 - {y}^2", f"{x}**2 - {y}**2", x**2 - y**2)


def _root(rng: random.Random) -> Step:
    m, x, n = rng.randint(2, 9), rng.randint(3, 60), rng.randint(1, 50)
    total = m * x + n
    return Step(
        f"the solution x of {m}x + {n} = {total}",
        f"x with {m} x + {n} = {total}",
        f"({total} - {n}) // {m}",
        x,
    )


def _multiple(rng: random.Random) -> Step:
    x, y = rng.sample(range(4, 61), 2)
    return Step(
        f"the least common multiple of {x} and {y}",
        f"lcm {x} {y}",
        f"lcm({x}, {y})",
        math.lcm(x, y),
        f"lcm {unordered(x, y)}",
    )


def _plus(rng: random.Random, v: str, values: Named) -> Step:
    m, n = rng.randint(2, 9), rng.randint(1, 99)
    return Step(
        f"{m} times {v}, plus {n}", f"{m} * {v} + {n}", f"{m} * {v} + {n}", m * values[v] + n
    )


def _rest(rng: random.Random, v: str, values: Named) -> Step:
    m = rng.randint(7, 60)
    return Step(
        f"the remainder when {v} is divided by {m}",
        f"rest {v} by {m}",
        f"{v} % {m}",
        values[v] % m,
    )


def _digits(rng: random.Random, v: str, values: Named) -> Step:
    return Step(
        f"the sum of the digits of {v}",
        f"digit sum {v}",
        f"sum(map(int, str({v})))",
        sum(map(int, str(values[v]))),
    )


def _square(rng: random.Random, v: str, values: Named) -> Step:
    n = rng.randint(1, 20)
    return Step(
        f"{n} more than the square of {v}", f"{v}^2 + {n}", f"{v}**2 + {n}", values[v] ** 2 + n
    )


def _divisors(rng: random.Random, v: str, values: Named) -> Step:
    count = math.prod(power + 1 for power in factors(values[v]).values())
    return Step(
        f"the number of positive divisors of {v}",
        f"count divisors {v}",
        f"len(divisors({v}))",
        count,
    )


def _common(rng: random.Random, v: str, values: Named) -> Step:
    n = rng.randint(2, 12) * rng.randint(2, 12)
    return Step(
        f"the greatest common divisor of {v} and {n}",
        f"gcd {v} {n}",
        f"gcd({v}, {n})",
        math.gcd(values[v], n),
    )


def _both(rng: random.Random, v: str, values: Named) -> Step:
    """The last number with an earlier one: a sum, a difference or a product."""
    other = rng.choice([name for name in values if name != v])
    words, sign = rng.choice((("sum", "+"), ("distance", "-"), ("product", "*")))
    x, y = values[v], values[other]
    value = {"+": x + y, "-": abs(x - y), "*": x * y}[sign]
    if sign == "-":
        return Step(
            f"the distance |{v} - {other}|", f"|{v} - {other}|", f"abs({v} - {other})", value
        )
    return Step(
        f"the {words} of {v} and {other}", f"{v} {sign} {other}", f"{v} {sign} {other}", value
    )


_FIRST: tuple[Callable[[random.Random], Step], ...] = (
    _product,
    _difference_of_squares,
    _root,
    _multiple,
)
_LATER: tuple[Callable[[random.Random, str, Named], Step], ...] = (
    *(_plus, _rest, _digits, _square, _divisors, _common, _both),
)


def _next(rng: random.Random, values: Named) -> Step:
    """A number that uses the last one and is another."""
    v = [*values][-1]
    while True:
        step = rng.choice(_LATER if len(values) > 1 else _LATER[:-1])(rng, v, values)
        if 2 <= step.value <= _MOST and step.value != values[v]:
            return step


KINDS: Kinds = {
    "easy": ((chain(2), 1),),
    "medium": ((chain(3), 1),),
    "hard": ((chain(5), 2), (chain(4), 1)),
}
