"""Settings of rates: percents, speeds, work and mixtures."""

from __future__ import annotations

import random
from fractions import Fraction

from llmzoo.envs.math.generator import names
from llmzoo.envs.math.generator.problem import MathProblem, format_count, format_decimal
from llmzoo.envs.symmetry_keys import sorted_key

_FRACTION = "Give a fraction in lowest terms, or an integer."


def discount(rng: random.Random) -> MathProblem:
    """A price after percents off, then percents more; exact to the hundredth."""
    thing = rng.choice(("coat", "lamp", "bicycle", "table", "watch", "radio", "tent", "kettle"))
    coins = rng.choice(names.COINS)
    price, off, tax = rng.randint(4, 80) * 5, rng.randint(1, 12) * 5, rng.randint(1, 5) * 5
    final_price = Fraction(price) * (100 - off) / 100 * (100 + tax) / 100
    return MathProblem(
        f"A {thing} costs {price} {coins}. The price is reduced by {off} percent, and then a tax of "
        f"{tax} percent of the reduced price is added. What is paid in the end, in {coins}? Give "
        "the exact decimal, or an integer.",
        format_decimal(final_price),
        "from decimal import Decimal\n"
        f"print(Decimal({price}) * {100 - off} / 100 * {100 + tax} / 100)",
        f"price {price} off {off} percent tax {tax} percent pays",
    )


def two_legs(rng: random.Random) -> MathProblem:
    """The mean speed over two legs at different speeds."""
    who = rng.choice(names.TRAVELLERS)
    unit = rng.choice(("kilometres", "miles"))
    v, w = rng.sample(range(25, 95, 5), 2)
    s, t = rng.randint(1, 6), rng.randint(1, 6)
    mean = Fraction(v * s + w * t, s + t)
    return MathProblem(
        f"{who} travels for {format_count(s, 'hours')} at {v} {unit} per hour and then for "
        f"{format_count(t, 'hours')} at {w} {unit} per hour. What is its mean speed over the whole way, "
        f"in {unit} per hour? {_FRACTION}",
        str(mean),
        f"from fractions import Fraction\nprint(Fraction({v} * {s} + {w} * {t}, {s} + {t}))",
        f"{s} hours at {v} then {t} hours at {w} mean speed",
        f"mean speed {sorted_key(f'{s} at {v}', f'{t} at {w}')}",
    )


def joint_work(rng: random.Random) -> MathProblem:
    """The time that two need together, with a head start for one or none."""
    machine, job = rng.choice(names.MACHINES)
    a, b = rng.sample(range(3, 30), 2)
    head = rng.randint(0, a - 2)
    time = (1 - Fraction(head, a)) / (Fraction(1, a) + Fraction(1, b))
    start = (
        f"The first works alone for {format_count(head, 'hours')}; then the second joins in. How "
        "many hours do both work together until the job is done?"
        if head
        else "How many hours do they need together?"
    )
    return MathProblem(
        f"One {machine} needs {a} hours to {job}, another needs {b} hours. {start} {_FRACTION}",
        str(time),
        "from fractions import Fraction\n"
        f"rest = 1 - Fraction({head}, {a})\n"
        f"print(rest / (Fraction(1, {a}) + Fraction(1, {b})))",
        f"jobs {a} hours and {b} hours first alone {head} then together",
        f"jobs {a} {b} first {head}" if head else f"jobs {sorted_key(a, b)}",
    )


def mixture(rng: random.Random) -> MathProblem:
    """The amount of a stronger solution that gives a mixture of a given strength."""
    substance = rng.choice(("salt", "sugar", "acid", "alcohol", "syrup"))
    weak, wanted, strong = sorted(rng.sample(range(5, 96, 5), 3))
    litres = rng.randint(2, 40)
    amount = Fraction(litres * (wanted - weak), strong - wanted)
    return MathProblem(
        f"There are {litres} litres of a liquid with {weak} percent {substance}. How many litres of "
        f"another with {strong} percent {substance} must be added for a mixture with {wanted} percent "
        f"{substance}? {_FRACTION}",
        str(amount),
        "from fractions import Fraction\n"
        f"print(Fraction({litres} * ({wanted} - {weak}), {strong} - {wanted}))",
        f"{litres} litres of {weak} percent add {strong} percent for {wanted} percent",
    )


def pursuit(rng: random.Random) -> MathProblem:
    """The time until a faster rider catches up with one who started earlier."""
    one, other = rng.sample(names.NAMES, 2)
    slow = rng.randint(3, 20)
    fast = slow + rng.randint(1, 12)
    head = rng.randint(1, 9)
    return MathProblem(
        f"{one} sets out on a bicycle at {slow} kilometres per hour. {_hours(head)} later {other} "
        f"follows on the same road at {fast} kilometres per hour. For how many hours does {other} "
        f"ride before catching up with {one}? {_FRACTION}",
        str(Fraction(slow * head, fast - slow)),
        f"from fractions import Fraction\nprint(Fraction({slow} * {head}, {fast} - {slow}))",
        f"speed {slow} start {head} hours before speed {fast} catch up",
    )


def _hours(number: int) -> str:
    words = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
    return f"{words[number - 1]} {'hour' if number == 1 else 'hours'}"
