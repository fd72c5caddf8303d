"""Counting: choices, multiples, paths; what is counted in order, and chances, in files of their own."""

from __future__ import annotations

import random
from math import comb, gcd, prod

from llmzoo.envs.keys import unordered
from llmzoo.envs.math.generator.arrangements import anagrams, different_neighbours, ranking
from llmzoo.envs.math.generator.chances import dice_sum, same_colour
from llmzoo.envs.math.generator.problem import Draw, Kinds, Problem, asked, counted


def outfits(rng: random.Random) -> Problem:
    kinds = rng.choice(
        (
            ("shirts", "scarves", "hats"),
            ("soups", "main dishes", "desserts"),
            ("frames", "saddles", "bells"),
            ("covers", "papers", "pens"),
        )
    )
    numbers = [rng.randint(2, 12) for _ in kinds]
    listed = [f"{n} {kind}" for n, kind in zip(numbers, kinds, strict=True)]
    shown = f"{listed[0]}, {listed[1]} and {listed[2]}"
    questions = (
        f"There are {shown} to choose from. In how many ways can one of each be chosen?",
        f"A shop offers {shown}. How many different sets with one of each are there?",
    )
    product = " * ".join(map(str, numbers))
    return asked(
        rng,
        questions,
        prod(numbers),
        f"print({product})",
        f"choose one of each from {' '.join(map(str, numbers))}",
        f"one of each {unordered(*numbers)}",
    )


def multiples(rng: random.Random) -> Problem:
    k, low = rng.randint(2, 12), rng.randint(1, 200)
    high = low + rng.randint(20, 200)
    questions = (
        f"How many multiples of {k} are there from {low} to {high}, both included?",
        f"Count the integers n with {low} <= n <= {high} that {k} divides.",
    )
    return asked(
        rng,
        questions,
        high // k - (low - 1) // k,
        f"print(sum(n % {k} == 0 for n in range({low}, {high} + 1)))",
        f"count multiples of {k} from {low} to {high}",
        f"multiples of {k} from {low % k} over {high - low}",
    )


def committee(most: int) -> Draw:
    """Some of a group, in no order."""

    def draw(rng: random.Random) -> Problem:
        n = rng.randint(4, most)
        k = rng.randint(2, min(4, n - 1))
        questions = (
            f"In how many ways can {k} people be chosen from a group of {n}?",
            f"{n} points lie on a circle. How many sets of {k} of them are there?",
        )
        program = f"from math import comb\nprint(comb({n}, {k}))"
        return asked(
            rng,
            questions,
            comb(n, k),
            program,
            f"choose {k} of {n}",
            f"choose {min(k, n - k)} of {n}",
        )

    return draw


def two_groups(rng: random.Random) -> Problem:
    a, b = rng.randint(3, 12), rng.randint(3, 12)
    i, j = rng.randint(1, min(3, a)), rng.randint(1, min(3, b))
    one, other = rng.choice(
        (
            ("teachers", "parents"),
            ("cooks", "waiters"),
            ("painters", "poets"),
            ("singers", "drummers"),
        )
    )
    questions = (
        f"From {a} {one} and {b} {other}, a team of {counted(i, one)} and {counted(j, other)} is "
        "to be formed. In how many ways can this be done?",
    )
    program = f"from math import comb\nprint(comb({a}, {i}) * comb({b}, {j}))"
    choices = f"{i} of {a}", f"{j} of {b}"
    return asked(
        rng,
        questions,
        comb(a, i) * comb(b, j),
        program,
        f"choose {' and '.join(choices)}",
        f"choose {unordered(*choices)}",
    )


def either_divides(rng: random.Random) -> Problem:
    """Inclusion and exclusion for two divisors."""
    while True:
        a, b = rng.sample(range(2, 16), 2)
        if a % b and b % a:
            break
    n = rng.randint(50, 900)
    shared = a * b // gcd(a, b)
    questions = (
        f"How many integers from 1 to {n} are multiples of {a} or of {b} (or of both)?",
        f"Count the positive integers up to {n} that {a} or {b} divides.",
    )
    program = f"print(sum(k % {a} == 0 or k % {b} == 0 for k in range(1, {n} + 1)))"
    return asked(
        rng,
        questions,
        n // a + n // b - n // shared,
        program,
        f"count multiples of {a} or {b} to {n}",
        f"multiples of either {unordered(a, b)} to {n}",
    )


def paths_past(rng: random.Random) -> Problem:
    """Lattice paths from corner to corner that pass, or avoid, a crossing."""
    width, height = rng.randint(3, 8), rng.randint(3, 8)
    x, y = rng.randint(1, width - 1), rng.randint(1, height - 1)
    through = comb(x + y, x) * comb(width + height - x - y, width - x)
    avoid = rng.random() < 0.5
    verb = "avoid" if avoid else "pass through"
    questions = (
        f"A robot goes from (0, 0) to ({width}, {height}) in steps of one to the right or one up. "
        f"How many of its paths {verb} the point ({x}, {y})?",
        f"Shortest paths along the lines of a grid lead from its corner (0, 0) to ({width}, "
        f"{height}). How many of them {verb} ({x}, {y})?",
    )
    program = (
        "from math import comb\n"
        f"through = comb({x + y}, {x}) * comb({width + height - x - y}, {width - x})\n"
        + (f"print(comb({width + height}, {width}) - through)" if avoid else "print(through)")
    )
    return asked(
        rng,
        questions,
        comb(width + height, width) - through if avoid else through,
        program,
        f"paths to {width} {height} {'avoid' if avoid else 'through'} {x} {y}",
        f"paths {avoid} {min(_turned(width, height, x, y))}",
    )


def _turned(width: int, height: int, x: int, y: int) -> list[tuple[int, ...]]:
    """The grid and its crossing, seen from either end and with the axes exchanged."""
    ends = (x, y), (width - x, height - y)
    return [image for a, b in ends for image in ((width, height, a, b), (height, width, b, a))]


def shared_out(rng: random.Random) -> Problem:
    """Stars and bars, each box holding at least so many."""
    boxes, least = rng.randint(2, 5), rng.randint(1, 4)
    n = boxes * least + rng.randint(3, 20)
    questions = (
        f"In how many ways can {n} equal coins be shared among {boxes} people so that everybody "
        f"gets at least {least}?",
        f"How many lists of {boxes} integers, each at least {least}, add up to {n}? The order of "
        "the integers counts.",
    )
    return asked(
        rng,
        questions,
        comb(n - boxes * least + boxes - 1, boxes - 1),
        f"from math import comb\nfree = {n} - {boxes} * {least}\n"
        f"print(comb(free + {boxes} - 1, {boxes} - 1))",
        f"share {n} among {boxes} at least {least}",
        f"share {n - boxes * least} freely among {boxes}",
    )


def at_least_one(rng: random.Random) -> Problem:
    a, b = rng.randint(3, 14), rng.randint(3, 14)
    k = rng.randint(2, min(5, b))
    questions = (
        f"A committee of {k} is chosen from {a} players and {b} coaches. How many committees have "
        "at least one player?",
        f"A bag holds {a} different red beads and {b} different blue ones. In how many ways can "
        f"{k} beads be picked so that not all of them are blue?",
    )
    return asked(
        rng,
        questions,
        comb(a + b, k) - comb(b, k),
        f"from math import comb\nprint(comb({a + b}, {k}) - comb({b}, {k}))",
        f"choose {k} of {a} and {b} at least one of first",
    )


KINDS: Kinds = {
    "easy": ((outfits, 2), (multiples, 3), (committee(12), 1)),
    "medium": (
        (committee(30), 1),
        (ranking, 1),
        (two_groups, 3),
        (anagrams, 2),
        (either_divides, 3),
    ),
    "hard": (
        (different_neighbours, 1),
        (paths_past, 3),
        (shared_out, 2),
        (at_least_one, 2),
        (same_colour, 2),
        (dice_sum, 2),
    ),
}
