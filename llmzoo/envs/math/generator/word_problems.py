"""Word problems: stories composed of events, and settings of trade, travel, work and shares.

The terse form keeps the numbers and the events, without names and things, so two stories that differ
only in these are in the same split.
"""

from __future__ import annotations

import random

from llmzoo.envs.math.generator import names
from llmzoo.envs.math.generator.problem import MathProblem, WeightedKinds, format_count
from llmzoo.envs.math.generator.rates import discount, joint_work, mixture, pursuit, two_legs
from llmzoo.envs.math.generator.stories import story
from llmzoo.envs.symmetry_keys import sorted_key


def purchase(rng: random.Random) -> MathProblem:
    """The change after buying two kinds of things."""
    name, coins = rng.choice(names.NAMES), rng.choice(names.COINS)
    one, other = rng.sample(names.THINGS, 2)
    a, b = rng.randint(2, 12), rng.randint(2, 12)
    p, q = rng.randint(1, 9), rng.randint(1, 9)
    cost = a * p + b * q
    paid = (cost // 50 + 1) * 50
    question = (
        f"{name} buys {a} {one} at {format_count(p, coins)} each and {b} {other} at "
        f"{format_count(q, coins)} each, and pays with {paid} {coins}. How many {coins} does "
        f"{name} get back?"
    )
    return MathProblem(
        question,
        str(paid - cost),
        f"print({paid} - {a} * {p} - {b} * {q})",
        f"pays {paid} buys {a} at {p} and {b} at {q} change",
        f"pays {paid} {sorted_key(sorted_key(a, p), sorted_key(b, q))}",
    )


def packing(rng: random.Random) -> MathProblem:
    """The number of full boxes, or of things left over."""
    name, thing, box = (rng.choice(words) for words in (names.NAMES, names.THINGS, names.BOXES))
    each = rng.randint(3, 24)
    n = rng.randint(each * 3, each * 20)
    left = rng.random() < 0.5
    asks = f"How many {thing} are left over?" if left else f"How many full {box} are there?"
    question = f"{name} packs {n} {thing} into {box} of {each} as far as they go. {asks}"
    return MathProblem(
        question,
        str(n % each if left else n // each),
        f"print({n} {'%' if left else '//'} {each})",
        f"pack {n} by {each} {'left over' if left else 'full'}",
    )


def saving(rng: random.Random) -> MathProblem:
    """The number of weeks to save a sum."""
    name, coins = rng.choice(names.NAMES), rng.choice(names.COINS)
    has, weekly, spends = rng.randint(5, 90), rng.randint(8, 30), rng.randint(1, 7)
    weeks = rng.randint(3, 30)
    goal = has + weeks * (weekly - spends)
    question = (
        f"{name} has {has} {coins}. Every week {name} earns {weekly} {coins} and spends "
        f"{format_count(spends, coins)}. After how many weeks does {name} have {goal} {coins}?"
    )
    return MathProblem(
        question,
        str(weeks),
        f"print(({goal} - {has}) // ({weekly} - {spends}))",
        f"has {has} earns {weekly} spends {spends} weeks to {goal}",
    )


def rectangle(rng: random.Random) -> MathProblem:
    """From the perimeter and one side to the area, or from the area to the perimeter."""
    thing, units = rng.choice(
        (
            *(
                (ground, ("metres", "feet", "yards"))
                for ground in ("garden", "meadow", "courtyard")
            ),
            *(
                (thing, ("centimetres", "inches"))
                for thing in ("picture", "tray", "sheet of paper")
            ),
        )
    )
    unit = rng.choice(units)
    a, b = rng.randint(3, 60), rng.randint(3, 60)
    if rng.random() < 0.5:
        return MathProblem(
            f"A rectangular {thing} has a perimeter of {2 * (a + b)} {unit}, and one side is {a} "
            f"{unit} long. What is its area in square {unit}?",
            str(a * b),
            f"other = {2 * (a + b)} // 2 - {a}\nprint({a} * other)",
            f"rectangle perimeter {2 * (a + b)} side {a} area",
            f"rectangle area of {sorted_key(a, b)}",
        )
    return MathProblem(
        f"A rectangular {thing} has an area of {a * b} square {unit}, and one side is {a} {unit} "
        f"long. What is its perimeter in {unit}?",
        str(2 * (a + b)),
        f"other = {a * b} // {a}\nprint(2 * ({a} + other))",
        f"rectangle area {a * b} side {a} perimeter",
        f"rectangle perimeter of {sorted_key(a, b)}",
    )


def ages(rng: random.Random) -> MathProblem:
    """An age from the ratio of two ages and their sum some years later."""
    one, other = rng.sample(names.NAMES, 2)
    k, years, young = rng.randint(2, 6), rng.randint(2, 20), rng.randint(3, 16)
    total = young + k * young + 2 * years
    words = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times"}
    return MathProblem(
        f"{one} is {words[k]} as old as {other}. In {years} years the sum of their ages will be "
        f"{total}. How old is {one} now?",
        str(k * young),
        f"print(({total} - 2 * {years}) // ({k} + 1) * {k})",
        f"a is {k} times b in {years} years sum {total} find a",
    )


def shares(rng: random.Random) -> MathProblem:
    """A sum divided in a ratio of three numbers."""
    one, other, third = rng.sample(names.NAMES, 3)
    parts = [rng.randint(1, 9) for _ in range(3)]
    each = rng.randint(4, 60)
    total = sum(parts) * each
    which = rng.randrange(3)
    coins = rng.choice(names.COINS)
    return MathProblem(
        f"{one}, {other} and {third} share {total} {coins} in the ratio {parts[0]} : {parts[1]} : "
        f"{parts[2]}. How many {coins} does {(one, other, third)[which]} get?",
        str(parts[which] * each),
        f"print({total} * {parts[which]} // ({parts[0]} + {parts[1]} + {parts[2]}))",
        f"share {total} as {parts[0]} {parts[1]} {parts[2]} find share {which + 1}",
        f"share {total} as {sorted_key(*parts)} find {parts[which]}",
    )


KINDS: WeightedKinds = {
    "easy": ((story(1, 40), 2), (story(2, 40), 2), (packing, 1)),
    "medium": (
        (story(3, 90), 3),
        (purchase, 2),
        (saving, 1),
        (rectangle, 1),
        (ages, 1),
        (shares, 1),
    ),
    "hard": (
        (story(5, 200), 2),
        (discount, 2),
        (two_legs, 1),
        (joint_work, 2),
        (mixture, 2),
        (pursuit, 1),
    ),
}
