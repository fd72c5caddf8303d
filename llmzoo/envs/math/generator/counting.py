"""Counting: choices, arrangements, paths, and chances as shares of what is equally likely."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from math import comb, factorial, gcd, perm, prod

from llmzoo.envs.math.generator.problem import Draw, Kinds, Problem, asked

_FRACTION = "Give a fraction in lowest terms."
_WORDS = (
    *("banana", "pepper", "letter", "balloon", "cocoon", "settee", "coffee", "rabbit", "kitten"),
    *("summer", "winner", "tomato", "potato", "papaya", "bazaar", "lesson", "tunnel", "puppet"),
    *("cabbage", "success", "address", "pattern", "cottage", "collect", "bubble", "mammal"),
    *("office", "little", "parrot", "carrot", "sorrel", "needle", "beetle", "yellow", "pillow"),
    *("ribbon", "cotton", "button", "muffin", "puzzle", "hammer", "copper", "bottle", "teapot"),
    *("giraffe", "gorilla", "llama", "alpaca", "panda", "zebra", "otter", "ferret", "raccoon"),
)


def outfits(rng: random.Random) -> Problem:
    kinds = rng.choice(
        (
            ("shirts", "trousers", "hats"),
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
        return asked(rng, questions, comb(n, k), program, f"choose {k} of {n}")

    return draw


def ranking(rng: random.Random) -> Problem:
    n, k = rng.randint(4, 20), rng.randint(2, 4)
    places = {2: "first and second", 3: "first, second and third", 4: "first to fourth"}[k]
    questions = (
        f"{n} runners race, and no two arrive together. In how many ways can the {places} place "
        "be taken?",
        f"How many ordered lists of {k} different names can be made from {n} names?",
    )
    program = f"from math import perm\nprint(perm({n}, {k}))"
    return asked(rng, questions, perm(n, k), program, f"order {k} of {n}")


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
        f"From {a} {one} and {b} {other}, a team of {i} {_form(one, i)} and {j} {_form(other, j)} is "
        "to be formed. In how many ways can this be done?",
    )
    program = f"from math import comb\nprint(comb({a}, {i}) * comb({b}, {j}))"
    return asked(
        rng, questions, comb(a, i) * comb(b, j), program, f"choose {i} of {a} and {j} of {b}"
    )


def anagrams(rng: random.Random) -> Problem:
    """Arrangements of some letters of a word, whose letters are first cut to a handful."""
    word = rng.choice(_WORDS)
    start = rng.randint(0, max(0, len(word) - 5))
    letters = word[start : start + rng.randint(4, 7)]
    count = factorial(len(letters))
    for times in Counter(letters).values():
        count //= factorial(times)
    questions = (
        f'In how many different orders can the letters of "{letters}" be written?',
        f'How many different strings use exactly the letters of "{letters}", each as often as it '
        "stands there?",
    )
    program = (
        f'from itertools import permutations\nprint(len(set(permutations("{letters}"))))'
        if len(letters) < 7
        else (
            "from math import factorial\n"
            f'word = "{letters}"\n'
            "count = factorial(len(word))\n"
            "for letter in set(word):\n"
            "    count //= factorial(word.count(letter))\n"
            "print(count)"
        )
    )
    return asked(rng, questions, count, program, f"orders of letters {letters}")


def either_divides(rng: random.Random) -> Problem:
    """Inclusion and exclusion for two divisors."""
    a, b = rng.sample(range(2, 16), 2)
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
    )


def different_neighbours(rng: random.Random) -> Problem:
    letters, length = rng.randint(3, 9), rng.randint(3, 8)
    questions = (
        f"A row of {length} tiles is painted with {letters} colours so that tiles next to each "
        "other differ. In how many ways can this be done?",
        f"How many strings of length {length} over {letters} letters have no two equal letters "
        "side by side?",
    )
    return asked(
        rng,
        questions,
        letters * (letters - 1) ** (length - 1),
        f"ways = {letters}\nfor _ in range({length} - 1):\n    ways *= {letters} - 1\nprint(ways)",
        f"strings length {length} letters {letters} neighbours differ",
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
        f"Shortest ways along the lines of a grid lead from its corner (0, 0) to ({width}, "
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
    )


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


def same_colour(rng: random.Random) -> Problem:
    """The chance that two balls drawn without putting back are of one colour."""
    a, b, c = rng.randint(2, 12), rng.randint(2, 12), rng.randint(0, 9)
    total = a + b + c
    others = f", {b} blue and {c} green" if c else f" and {b} blue"
    questions = (
        f"An urn holds {a} red{others} balls. Two are drawn at random without putting the first "
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
    )


def _form(plural: str, number: int) -> str:
    """The singular of a plural in -s for 1."""
    return plural.removesuffix("s") if number == 1 else plural


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
