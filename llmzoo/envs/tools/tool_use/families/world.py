"""How questions name the facts of the articles."""

from __future__ import annotations

import random
from functools import cache

from llmzoo.envs.tools.corpus import Article, articles

# (kind, fact): the fact in words; {x} is what the article is about
MEASURES = {
    ("town", "population"): "population of {x}",
    ("town", "elevation_m"): "elevation in metres of {x}",
    ("island", "area_km2"): "area in square kilometres of {x}",
    ("island", "population"): "population of {x}",
    ("island", "height_m"): "height in metres of the highest point of {x}",
    ("bridge", "length_m"): "length in metres of {x}",
    ("bridge", "spans"): "number of spans of {x}",
    ("bridge", "cost_marens"): "cost in marens of {x}",
    ("ferry", "distance_km"): "distance in kilometres that {x} covers",
    ("ferry", "minutes"): "duration in minutes of a crossing with {x}",
    ("ferry", "fare_marens"): "fare in marens of {x}",
    ("museum", "rooms"): "number of rooms of {x}",
    ("museum", "items"): "number of items that {x} holds",
    ("museum", "visitors"): "number of visitors a year of {x}",
    ("museum", "ticket_marens"): "price in marens of a ticket for {x}",
    ("river", "length_km"): "length in kilometres of {x}",
    ("river", "bridges"): "number of bridges over {x}",
    ("festival", "days"): "number of days that {x} lasts",
    ("festival", "visitors"): "number of visitors of {x}",
    ("company", "employees"): "number of employees of {x}",
    ("company", "revenue_marens"): "yearly revenue in marens of {x}",
    ("species", "length_cm"): "length in centimetres of {x}",
    ("species", "weight_g"): "weight in grams of {x}",
    ("species", "lifespan_years"): "lifespan in years of {x}",
    ("lighthouse", "height_m"): "height in metres of {x}",
    ("lighthouse", "steps"): "number of steps of {x}",
    ("lighthouse", "range_km"): "range in kilometres of {x}",
}
YEARS = {
    ("town", "founded"): "year in which {x} was founded",
    ("island", "surveyed"): "year in which {x} was surveyed",
    ("bridge", "opened"): "year in which {x} was opened",
    ("museum", "opened"): "year in which {x} was opened",
    ("festival", "first_held"): "year in which {x} was first held",
    ("company", "founded"): "year in which {x} was founded",
    ("person", "born"): "year in which {x} was born",
    ("person", "died"): "year in which {x} died",
    ("species", "discovered"): "year in which {x} was discovered",
    ("lighthouse", "built"): "year in which {x} was built",
}
NAMES = {
    ("town", "island"): "island on which {x} lies",
    ("island", "capital"): "capital of {x}",
    ("bridge", "architect"): "architect of {x}",
    ("ferry", "vessel"): "vessel of {x}",
    ("museum", "town"): "town in which {x} is found",
    ("river", "mouth"): "town at the mouth of {x}",
    ("festival", "town"): "town in which {x} is held",
    ("festival", "month"): "month in which {x} is held",
    ("company", "town"): "town in which {x} has its seat",
    ("company", "founder"): "founder of {x}",
    ("person", "birthplace"): "town in which {x} was born",
    ("species", "island"): "island on which {x} lives",
    ("species", "discoverer"): "discoverer of {x}",
    ("lighthouse", "town"): "town near which {x} stands",
}
_BARE = ("town", "island", "person", "company")  # kinds whose titles take no "the"


def title(article: Article) -> str:
    """An article's title within a sentence."""
    bare = article.kind in _BARE or article.title.startswith("The ")
    return article.title if bare else f"the {article.title}"


def describe_fact(article: Article, fact: str, *, of: str = "") -> str:
    """``the population of Varnholt``; ``of`` replaces the subject."""
    key = article.kind, fact
    words = MEASURES.get(key) or YEARS.get(key) or NAMES[key]
    return f"the {words.format(x=of or title(article))}"


def numeric_fact(article: Article, fact: str) -> int:
    """A fact that is a number."""
    return int(article.facts[fact])


def find_article(name: str) -> Article:
    """The article with a title."""
    return _titles()[name]


def sample_articles(rng: random.Random, kind: str, number: int = 1) -> list[Article]:
    """``number`` articles of a kind."""
    return rng.sample(_kinds()[kind], number)


def sample_fact(rng: random.Random, table: dict[tuple[str, str], str]) -> tuple[Article, str]:
    """An article and one of its facts in the table, drawn evenly over all articles."""
    pairs = [key for key in table for _ in _kinds()[key[0]]]
    while True:
        kind, fact = rng.choice(pairs)
        article = sample_articles(rng, kind)[0]
        if not is_in_title(article, fact):
            return article, fact


def is_in_title(article: Article, fact: str) -> bool:
    """Whether an article's title says the fact, as in the bellbird of Ilmoor."""
    return str(article.facts[fact]) in article.title


@cache
def _kinds() -> dict[str, list[Article]]:
    kinds: dict[str, list[Article]] = {}
    for article in articles():
        kinds.setdefault(article.kind, []).append(article)
    return kinds


@cache
def _titles() -> dict[str, Article]:
    return {article.title: article for article in articles()}
