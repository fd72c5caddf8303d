"""Questions on the articles: one fact, a fact in other units, two facts, the greatest of three."""

from __future__ import annotations

import random

from llmzoo.envs.tools.tool_use.families import world
from llmzoo.envs.tools.tool_use.questions import (
    ExpectedAnswer,
    ToolQuestion,
    calculator_call,
    format_number,
    numeric_answer,
    search_call,
)

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


def fact(rng: random.Random) -> ToolQuestion:
    """One fact: ``search``."""
    table = rng.choice((world.MEASURES, world.MEASURES, world.YEARS, world.NAMES))
    article, key = world.sample_fact(rng, table)
    it = world.describe_fact(article, key)
    fact_value = article.facts[key]
    is_number = isinstance(fact_value, int)
    return ToolQuestion(
        text=f"{rng.choice(_WORDINGS).format(it=it)} Answer with the {'number' if is_number else 'name'} alone.",
        target=numeric_answer(fact_value)
        if isinstance(fact_value, int)
        else ExpectedAnswer((fact_value,)),
        steps=(search_call(article, key),),
        family="fact",
        content=f"fact {article.title} {key}",
    )


def conversion(rng: random.Random) -> ToolQuestion:
    """A measure in another unit: ``search``, ``calculator``."""
    while True:
        article, key = world.sample_fact(rng, world.MEASURES)
        words = world.describe_fact(article, key)
        unit = next((unit for unit in _UNITS if f" in {unit}" in words), None)
        if unit is not None:
            break
    other = rng.choice(_UNITS[unit])
    hundredths = rng.randrange(13, 1000)
    measure = world.numeric_fact(article, key)
    result = measure * 100 / hundredths
    return ToolQuestion(
        text=(
            f"Give {words.replace(f' in {unit}', '')} in {other}. One of the {other} is "
            f"{format_number(hundredths / 100)} {unit}. Answer with the number, rounded to two decimals."
        ),
        target=numeric_answer(result, _ROUNDING),
        steps=(
            search_call(article, key),
            calculator_call(f"{measure} / {format_number(hundredths / 100)}", result, _ROUNDING),
        ),
        family="conversion",
        content=f"conversion {article.title} {key} {hundredths}",
    )


def difference(rng: random.Random) -> ToolQuestion:
    """Two facts of a kind, in one number: ``search`` twice, ``calculator``."""
    kind, key = rng.choice([*world.MEASURES, *world.YEARS])
    first, second = world.sample_articles(rng, kind, 2)
    a, b = (world.numeric_fact(article, key) for article in (first, second))
    x, y = (world.describe_fact(article, key) for article in (first, second))
    tolerance = 0.0
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
        expression, result, tolerance = f"{a} / {b} * 100", a / b * 100, _ROUNDING
    return ToolQuestion(
        text=f"{text} Answer with the number alone.",
        target=numeric_answer(result, tolerance),
        steps=(
            *(search_call(article, key) for article in (first, second)),
            calculator_call(expression, result, tolerance),
        ),
        family="difference",
        content=f"difference {key} {' '.join(sorted((first.title, second.title)))}",
    )


def ranking(rng: random.Random) -> ToolQuestion:
    """The one with the most or the least of three: ``search`` three times."""
    kind, key = rng.choice([*world.MEASURES, *world.YEARS])
    three = world.sample_articles(rng, kind, 3)
    values = [world.numeric_fact(article, key) for article in three]
    while len({*values}) < 3:  # a tie has no winner
        three = world.sample_articles(rng, kind, 3)
        values = [world.numeric_fact(article, key) for article in three]
    most = rng.random() < 0.5
    year = (kind, key) in world.YEARS
    degree = ("latest" if most else "earliest") if year else ("highest" if most else "lowest")
    best = (max if most else min)(three, key=lambda article: world.numeric_fact(article, key))
    listed = ", ".join(world.title(article) for article in three[:2])
    return ToolQuestion(
        text=(
            f"Compare {listed} and {world.title(three[2])} by {world.describe_fact(three[0], key, of='each')}. "
            f"Of which of the three is it the {degree}? Answer with the name alone."
        ),
        target=ExpectedAnswer((best.title,)),
        steps=tuple(search_call(article, key) for article in three),
        family="ranking",
        content=f"ranking {key} {' '.join(sorted(article.title for article in three))}",
    )
