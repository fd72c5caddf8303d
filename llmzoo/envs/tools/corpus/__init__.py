"""The articles that ``search`` searches by default: the Veyl Isles, an invented archipelago.

========== =====================================================================================
kind       facts (years, metres and the like are numbers; a name is the title of another article)
========== =====================================================================================
island     capital (town), area_km2, population, highest_point, height_m, surveyed
town       island, founded, population, elevation_m, known_for
bridge     from, to (towns), architect (person), opened, length_m, spans, cost_marens
ferry      from, to (towns), distance_km, minutes, fare_marens, sailings (a day), vessel
museum     town, opened, rooms, items, visitors (a year), ticket_marens
river      island, source, mouth (town), length_km, bridges
festival   town, month, first_held, days, visitors
company    town, founder (person), founded, employees, product, revenue_marens (a year)
person     birthplace (town), profession, born, died, known_for (bridge, company or species)
species    island, discoverer (person), discovered, length_cm, weight_g, lifespan_years, group
lighthouse town, island, built, height_m, steps, range_km
========== =====================================================================================

``scripts/corpus`` has the facts and the sentences from which ``articles.jsonl`` was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llmzoo.envs.sources import read_shipped_records

FILE = Path(__file__).parent / "articles.jsonl"
FACTS_FILE = Path(__file__).parent / "facts.json"  # the facts of each kind, in words

Fact = str | int


@dataclass(frozen=True, slots=True)
class Article:
    """``text`` contains the values of ``facts`` word for word, numbers in plain digits."""

    title: str
    text: str
    facts: Mapping[str, Fact]
    kind: str


@cache
def articles() -> tuple[Article, ...]:
    """All articles, sorted by their titles, which are unique."""
    return tuple(Article(**record) for record in read_shipped_records(FILE))
