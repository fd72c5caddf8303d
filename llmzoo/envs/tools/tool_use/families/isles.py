"""Questions on the articles: one fact, a fact in other units, two facts, the greatest of three."""

from __future__ import annotations

import random

from llmzoo.envs.tools.tool_use.families import world
from llmzoo.envs.tools.tool_use.questions import Question, Target, calculate, look_up, number, plain

_WORDINGS = (
    "What is {it}?",
    "Find out {it}.",
    "I would like to know {it}.",
    "Please look up {it} for me.",
)
# invented old measures: the question defines them
_UNITS = {
    "metres": ("ells", "rods", "paces", "reaches"),
    "kilometres": ("leagues", "rides", "sea miles of old"),
    "centimetres": ("thumbs", "hands", "knots of cord"),
    "grams": ("grains", "pennyweights", "pebbles"),
    "marens": ("crowns", "florins", "silver bits"),
    "minutes": ("bells", "candles", "watches"),
}
_ROUNDING = 0.00501  # an answer to two decimals


def fact(rng: random.Random) -> Question:
    """One fact: ``search``."""
    table = rng.choice((world.MEASURES, world.MEASURES, world.YEARS, world.NAMES))
    article, key = world.pick_fact(rng, table)
    it = world.described(article, key)
    fact_value = article.facts[key]
    is_number = isinstance(fact_value, int)
    return Question(
        text=f"{rng.choice(_WORDINGS).format(it=it)} Answer with the {'number' if is_number else 'name'} alone.",
        target=number(fact_value) if isinstance(fact_value, int) else Target((fact_value,)),
        steps=(look_up(article, key),),
        family="fact",
        content=f"fact {article.title} {key}",
    )


def conversion(rng: random.Random) -> Question:
    """A measure in another unit: ``search``, ``calculator``."""
    while True:
        article, key = world.pick_fact(rng, world.MEASURES)
        words = world.described(article, key)
        unit = next((unit for unit in _UNITS if f" in {unit}" in words), None)
        if unit is not None:
            break
    other = rng.choice(_UNITS[unit])
    hundredths = rng.randrange(13, 1000)
    measure = world.value(article, key)
    result = measure * 100 / hundredths
    return Question(
        text=(
            f"Give {words.replace(f' in {unit}', '')} in {other}. One of the {other} is "
            f"{plain(hundredths / 100)} {unit}. Answer with the number, rounded to two decimals."
        ),
        target=number(result, _ROUNDING),
        steps=(
            look_up(article, key),
            calculate(f"{measure} / {plain(hundredths / 100)}", result, _ROUNDING),
        ),
        family="conversion",
        content=f"conversion {article.title} {key} {hundredths}",
    )


def difference(rng: random.Random) -> Question:
    """Two facts of a kind, in one number: ``search`` twice, ``calculator``."""
    kind, key = rng.choice([*world.MEASURES, *world.YEARS])
    first, second = world.pick(rng, kind, 2)
    a, b = (world.value(article, key) for article in (first, second))
    x, y = (world.described(article, key) for article in (first, second))
    within = 0.0
    if (kind, key) in world.YEARS:
        text = f"How many years lie between {x} and {y}?"
        expression, result = f"abs({a} - {b})", float(abs(a - b))
    elif rng.random() < 0.4:
        text = f"What do {x} and {y} come to together?"
        expression, result = f"{a} + {b}", float(a + b)
    elif rng.random() < 0.6:
        text = f"What is {x}, less {y}? The number may be negative."
        expression, result = f"{a} - {b}", float(a - b)
    else:
        text = f"How many percent of {y} is {x}? Round to two decimals."
        expression, result, within = f"{a} / {b} * 100", a / b * 100, _ROUNDING
    return Question(
        text=f"{text} Answer with the number alone.",
        target=number(result, within),
        steps=(
            *(look_up(article, key) for article in (first, second)),
            calculate(expression, result, within),
        ),
        family="difference",
        content=f"difference {key} {' '.join(sorted((first.title, second.title)))}",
    )


def ranking(rng: random.Random) -> Question:
    """The one with the most or the least of three: ``search`` three times."""
    kind, key = rng.choice([*world.MEASURES, *world.YEARS])
    three = world.pick(rng, kind, 3)
    values = [world.value(article, key) for article in three]
    while len({*values}) < 3:  # a tie has no winner
        three = world.pick(rng, kind, 3)
        values = [world.value(article, key) for article in three]
    most = rng.random() < 0.5
    year = (kind, key) in world.YEARS
    degree = ("latest" if most else "earliest") if year else ("highest" if most else "lowest")
    best = (max if most else min)(three, key=lambda article: world.value(article, key))
    listed = ", ".join(world.title(article) for article in three[:2])
    return Question(
        text=(
            f"Compare {listed} and {world.title(three[2])} by {world.described(three[0], key, of='each')}. "
            f"Of which of the three is it the {degree}? Answer with the name alone."
        ),
        target=Target((best.title,)),
        steps=tuple(look_up(article, key) for article in three),
        family="ranking",
        content=f"ranking {key} {' '.join(sorted(article.title for article in three))}",
    )
