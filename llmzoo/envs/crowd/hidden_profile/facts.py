"""The facts of a hidden profile: their sentences, and the compact form in which scripted players report them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PLACES = (
    *("Alder", "Birch", "Cedar", "Elder", "Hazel", "Juniper", "Larch", "Linden"),
    *("Maple", "Myrtle", "Poplar", "Rowan", "Sorrel", "Spruce", "Walnut", "Willow"),
)
# keyword -> what is good and what is bad about a place
ASPECTS: Mapping[str, Sequence[str]] = json.loads(
    (Path(__file__).parent / "aspects.json").read_text(encoding="utf-8")
)
KEYWORDS = tuple(ASPECTS)
LETTERS = "abcdefghijklmnopqrstuvwx"  # the aspects in terse prompts
_TOKEN = re.compile(r"[+-]?\w+")


class Fact(NamedTuple):
    """Something good or bad about a place. ``place`` and ``aspect`` are numbers."""

    place: int
    aspect: int
    good: bool


def score_places(facts: Iterable[Fact], places: int) -> list[int]:
    """The number of good facts minus the number of bad ones, by place. A fact counts once."""
    scores = [0] * places
    for fact in set(facts):
        scores[fact.place] += 1 if fact.good else -1
    return scores


def find_best(facts: Iterable[Fact], places: int) -> int | None:
    """The place with the highest score; None if several have it."""
    scores = score_places(facts, places)
    best = max(scores)
    return scores.index(best) if scores.count(best) == 1 else None


class FactNames(NamedTuple):
    """The words for places and aspects, for one prompt style."""

    places: Sequence[str]
    aspects: Sequence[str]

    def write(self, facts: Iterable[Fact]) -> str:
        """Facts in compact form, such as ``Alder +light -roof; Birch +rent``."""
        by_place: dict[int, list[str]] = {}
        for fact in facts:
            sign = "+" if fact.good else "-"
            by_place.setdefault(fact.place, []).append(sign + self.aspects[fact.aspect])
        return "; ".join(f"{self.places[p]} {' '.join(names)}" for p, names in by_place.items())

    def read(self, text: str) -> Iterator[Fact]:
        """The facts that a text reports in compact form; other words are passed over."""
        place: int | None = None
        for token in _TOKEN.findall(text):
            if token in self.places:
                place = self.places.index(token)
            elif token[0] in "+-" and token[1:] in self.aspects and place is not None:
                yield Fact(place, self.aspects.index(token[1:]), token[0] == "+")
