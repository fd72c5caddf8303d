"""Word problems: stories composed of events, and settings of trade, travel, work and shares.

The terse form keeps the numbers and what happens to them, not whose things they are: two stories
that differ only in names and things are one task to the split.
"""

from __future__ import annotations

import random
from fractions import Fraction

from llmzoo.envs.math.generator import names
from llmzoo.envs.math.generator.problem import Draw, Kinds, Problem, asked, decimal

_FRACTION = "Give a fraction in lowest terms, or an integer."


def story(events: int, most: int) -> Draw:
    """Somebody's things become more and fewer; how many are left at the end."""

    def draw(rng: random.Random) -> Problem:
        name, thing = rng.choice(names.NAMES), rng.choice(names.THINGS)
        count = rng.randint(most // 4, most)
        sentences = [f"{name} has {count} {thing}."]
        terse, program = [f"has {count}"], [f"n = {count}"]
        last = ""
        for _ in range(events):
            kinds = [_more, _fewer, _parcels, _times] + [_part] * (count % 2 == 0 or count % 3 == 0)
            event = rng.choice([kind for kind in kinds if kind.__name__ != last])
            last = event.__name__
            count, sentence, short, step = event(rng, name, thing, count)
            sentences.append(sentence)
            terse.append(short)
            program.append(step)
        question = rng.choice(
            (
                f"How many {thing} does {name} have now?",
                f"With how many {thing} does {name} end up?",
            )
        )
        return Problem(
            " ".join([*sentences, question]),
            str(count),
            "\n".join([*program, "print(n)"]),
            f"{' '.join(terse)} how many now",
        )

    return draw


_Event = tuple[int, str, str, str]  # the new count; the event in words, in few words, as a program


def _more(rng: random.Random, name: str, thing: str, count: int) -> _Event:
    k = rng.randint(2, 60)
    sentence = rng.choice(
        (
            f"Then {name} finds {k} more in a drawer.",
            f"{name} buys {k} more at the market.",
            f"{name} gets {k} {thing} from {rng.choice(names.PEOPLE)}.",
        )
    )
    return count + k, sentence, f"plus {k}", f"n += {k}"


def _fewer(rng: random.Random, name: str, thing: str, count: int) -> _Event:
    k = rng.randint(1, max(1, count - 1))
    sentence = rng.choice(
        (
            f"{name} gives {k} of the {thing} to {rng.choice(names.PEOPLE)}.",
            f"Then {k} of the {thing} get lost.",
            f"{name} sells {k} {thing}.",
        )
    )
    return count - k, sentence, f"minus {k}", f"n -= {k}"


def _parcels(rng: random.Random, name: str, thing: str, count: int) -> _Event:
    boxes, each = rng.randint(2, 12), rng.randint(2, 15)
    box = rng.choice(names.BOXES)
    sentence = rng.choice(
        (
            f"A delivery brings {boxes} {box} with {each} {thing} each.",
            f"{name} is given {boxes} {box} of {each} {thing} each.",
        )
    )
    return count + boxes * each, sentence, f"plus {boxes} of {each}", f"n += {boxes} * {each}"


def _times(rng: random.Random, name: str, thing: str, count: int) -> _Event:
    k = rng.randint(2, 4)
    word = {2: "twice", 3: "three times", 4: "four times"}[k]
    sentence = f"A year later {name} has {word} as many {thing}."
    return count * k, sentence, f"times {k}", f"n *= {k}"


def _part(rng: random.Random, name: str, thing: str, count: int) -> _Event:
    k = rng.choice([k for k in (2, 3) if count % k == 0])
    word = {2: "half", 3: "a third"}[k]
    sentence = rng.choice(
        (
            f"Then {name} gives away {word} of the {thing}.",
            f"{name} trades {word} of all the {thing} for a hat.",
        )
    )
    return count - count // k, sentence, f"minus 1/{k}", f"n -= n // {k}"


def purchase(rng: random.Random) -> Problem:
    """Some of one thing and of another, paid with a note: the change."""
    name, coins = rng.choice(names.NAMES), rng.choice(names.COINS)
    one, other = rng.sample(names.THINGS, 2)
    a, b = rng.randint(2, 12), rng.randint(2, 12)
    p, q = rng.randint(1, 9), rng.randint(1, 9)
    cost = a * p + b * q
    paid = (cost // 50 + 1) * 50
    question = (
        f"{name} buys {a} {one} at {p} {_one(coins, p)} each and {b} {other} at {q} "
        f"{_one(coins, q)} each, and pays with {paid} {coins}. How many {coins} does {name} get back?"
    )
    return Problem(
        question,
        str(paid - cost),
        f"print({paid} - {a} * {p} - {b} * {q})",
        f"pays {paid} buys {a} at {p} and {b} at {q} change",
    )


def packing(rng: random.Random) -> Problem:
    """Things in full boxes: how many boxes, or how many are left over."""
    name, thing, box = (rng.choice(words) for words in (names.NAMES, names.THINGS, names.BOXES))
    each = rng.randint(3, 24)
    n = rng.randint(each * 3, each * 20)
    left = rng.random() < 0.5
    asks = f"How many {thing} are left over?" if left else f"How many full {box} are there?"
    question = f"{name} packs {n} {thing} into {box} of {each} as far as they go. {asks}"
    return Problem(
        question,
        str(n % each if left else n // each),
        f"print({n} {'%' if left else '//'} {each})",
        f"pack {n} by {each} {'left over' if left else 'full'}",
    )


def saving(rng: random.Random) -> Problem:
    """How long until enough is saved."""
    name, coins = rng.choice(names.NAMES), rng.choice(names.COINS)
    has, weekly, spends = rng.randint(5, 90), rng.randint(8, 30), rng.randint(1, 7)
    weeks = rng.randint(3, 30)
    goal = has + weeks * (weekly - spends)
    question = (
        f"{name} has {has} {coins}, earns {weekly} {coins} every week and spends {spends} "
        f"of them. After how many weeks does {name} have {goal} {coins}?"
    )
    return Problem(
        question,
        str(weeks),
        f"print(({goal} - {has}) // ({weekly} - {spends}))",
        f"has {has} earns {weekly} spends {spends} weeks to {goal}",
    )


def rectangle(rng: random.Random) -> Problem:
    """From the perimeter and one side to the area, or from the area to the perimeter."""
    unit = rng.choice(("metres", "centimetres", "feet", "inches"))
    place = rng.choice(("garden", "carpet", "meadow", "sheet of paper", "courtyard", "wall"))
    a, b = rng.randint(3, 60), rng.randint(3, 60)
    if rng.random() < 0.5:
        return Problem(
            f"A rectangular {place} has a perimeter of {2 * (a + b)} {unit}, and one side is {a} "
            f"{unit} long. What is its area in square {unit}?",
            str(a * b),
            f"other = {2 * (a + b)} // 2 - {a}\nprint({a} * other)",
            f"rectangle perimeter {2 * (a + b)} side {a} area",
        )
    return Problem(
        f"A rectangular {place} has an area of {a * b} square {unit}, and one side is {a} {unit} "
        f"long. What is its perimeter in {unit}?",
        str(2 * (a + b)),
        f"other = {a * b} // {a}\nprint(2 * ({a} + other))",
        f"rectangle area {a * b} side {a} perimeter",
    )


def ages(rng: random.Random) -> Problem:
    """One is so many times as old as the other; so many years later the sum of the ages."""
    one, other = rng.sample(names.NAMES, 2)
    k, years, young = rng.randint(2, 6), rng.randint(2, 20), rng.randint(3, 16)
    total = young + k * young + 2 * years
    words = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times"}
    return Problem(
        f"{one} is {words[k]} as old as {other}. In {years} years the sum of their ages will be "
        f"{total}. How old is {one} now?",
        str(k * young),
        f"print(({total} - 2 * {years}) // ({k} + 1) * {k})",
        f"a is {k} times b in {years} years sum {total} find a",
    )


def discount(rng: random.Random) -> Problem:
    """A price after percents off, then percents more; exact to the hundredth."""
    thing = rng.choice(("coat", "lamp", "bicycle", "table", "watch", "radio", "tent", "kettle"))
    coins = rng.choice(names.COINS)
    price, off, tax = rng.randint(4, 80) * 5, rng.randint(1, 12) * 5, rng.randint(1, 5) * 5
    paid = Fraction(price) * (100 - off) / 100 * (100 + tax) / 100
    return Problem(
        f"A {thing} costs {price} {coins}. It is reduced by {off} percent, and then a tax of {tax} "
        f"percent of the reduced price is added. What is paid in the end, in {coins}? Give the "
        "exact decimal.",
        decimal(paid),
        "from decimal import Decimal\n"
        f"print(Decimal({price}) * {100 - off} / 100 * {100 + tax} / 100)",
        f"price {price} off {off} percent tax {tax} percent pays",
    )


def shares(rng: random.Random) -> Problem:
    """A sum divided in a ratio of three numbers."""
    one, other, third = rng.sample(names.NAMES, 3)
    parts = [rng.randint(1, 9) for _ in range(3)]
    each = rng.randint(4, 60)
    total = sum(parts) * each
    which = rng.randrange(3)
    coins = rng.choice(names.COINS)
    return Problem(
        f"{one}, {other} and {third} share {total} {coins} in the ratio {parts[0]} : {parts[1]} : "
        f"{parts[2]}. How many {coins} does {(one, other, third)[which]} get?",
        str(parts[which] * each),
        f"print({total} * {parts[which]} // ({parts[0]} + {parts[1]} + {parts[2]}))",
        f"share {total} as {parts[0]} {parts[1]} {parts[2]} find share {which + 1}",
    )


def two_legs(rng: random.Random) -> Problem:
    """The mean speed over two legs at different speeds."""
    who = rng.choice(names.TRAVELLERS)
    unit = rng.choice(("kilometres", "miles"))
    v, w = rng.sample(range(25, 95, 5), 2)
    s, t = rng.randint(1, 6), rng.randint(1, 6)
    mean = Fraction(v * s + w * t, s + t)
    return Problem(
        f"{who} travels for {s} {_one('hours', s)} at {v} {unit} per hour and then for {t} "
        f"{_one('hours', t)} at {w} {unit} per hour. What is its mean speed over the whole way, "
        f"in {unit} per hour? {_FRACTION}",
        str(mean),
        f"from fractions import Fraction\nprint(Fraction({v} * {s} + {w} * {t}, {s} + {t}))",
        f"{s} hours at {v} then {t} hours at {w} mean speed",
    )


def together(rng: random.Random) -> Problem:
    """Two who work at once, of whom one may start earlier."""
    machine, job = rng.choice(names.MACHINES)
    a, b = rng.sample(range(3, 30), 2)
    head = rng.randint(0, a - 2)
    time = (1 - Fraction(head, a)) / (Fraction(1, a) + Fraction(1, b))
    start = (
        f"The first works alone for {head} {_one('hours', head)}; then the second joins in. How "
        "many hours do both work together until the job is done?"
        if head
        else "How many hours do they need together?"
    )
    return Problem(
        f"One {machine} needs {a} hours to {job}, another needs {b} hours. {start} {_FRACTION}",
        str(time),
        "from fractions import Fraction\n"
        f"rest = 1 - Fraction({head}, {a})\n"
        f"print(rest / (Fraction(1, {a}) + Fraction(1, {b})))",
        f"jobs {a} hours and {b} hours first alone {head} then together",
    )


def mixture(rng: random.Random) -> Problem:
    """Two solutions mixed; how much of the stronger for a wanted strength."""
    substance = rng.choice(("salt", "sugar", "acid", "alcohol", "syrup"))
    weak, wanted, strong = sorted(rng.sample(range(5, 96, 5), 3))
    litres = rng.randint(2, 40)
    amount = Fraction(litres * (wanted - weak), strong - wanted)
    return Problem(
        f"There are {litres} litres of a liquid with {weak} percent {substance}. How many litres of "
        f"one with {strong} percent {substance} must be added to get {wanted} percent? {_FRACTION}",
        str(amount),
        "from fractions import Fraction\n"
        f"print(Fraction({litres} * ({wanted} - {weak}), {strong} - {wanted}))",
        f"{litres} litres of {weak} percent add {strong} percent for {wanted} percent",
    )


def pursuit(rng: random.Random) -> Problem:
    """One starts later and is faster: how long until it catches up."""
    one, other = rng.sample(names.NAMES, 2)
    slow = rng.randint(3, 20)
    fast = slow + rng.randint(1, 12)
    head = rng.randint(1, 9)
    return asked(
        rng,
        (
            f"{one} sets out on a bicycle at {slow} kilometres per hour. {_hours(head)} later "
            f"{other} follows at {fast} kilometres per hour. How many hours after setting out does "
            f"{other} catch up with {one}? {_FRACTION}",
        ),
        Fraction(slow * head, fast - slow),
        f"from fractions import Fraction\nprint(Fraction({slow} * {head}, {fast} - {slow}))",
        f"speed {slow} start {head} hours before speed {fast} catch up",
    )


def _one(plural: str, number: int) -> str:
    return plural.removesuffix("s") if number == 1 else plural


def _hours(number: int) -> str:
    words = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
    return f"{words[number - 1]} {_one('hours', number)}"


KINDS: Kinds = {
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
        (together, 2),
        (mixture, 2),
        (pursuit, 1),
    ),
}
