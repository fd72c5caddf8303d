"""How questions name the facts of the articles."""

from __future__ import annotations

import json
import random
from functools import cache

from llmzoo.envs.tools.corpus import FACTS_FILE, Article, articles

FactTable = dict[tuple[str, str], str]  # (kind, fact): the fact in words; {x} is what it is about


def _load_tables() -> list[FactTable]:
    """The facts that are measures, years and names."""
    return [
        {(kind, fact): words for kind, facts in table.items() for fact, words in facts.items()}
        for table in json.loads(FACTS_FILE.read_text(encoding="utf-8")).values()
    ]


MEASURES, YEARS, NAMES = _load_tables()
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


def sample_fact(rng: random.Random, table: FactTable) -> tuple[Article, str]:
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
