"""The facts of a hidden profile: their sentences, and the compact form in which scripted players report them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

PLACES = (
    *("Alder", "Birch", "Cedar", "Elder", "Hazel", "Juniper", "Larch", "Linden"),
    *("Maple", "Myrtle", "Poplar", "Rowan", "Sorrel", "Spruce", "Walnut", "Willow"),
)
# keyword -> what is good and what is bad about a place
ASPECTS = {
    "light": ("The rooms get daylight all day.", "The rooms are dark by noon."),
    "roof": ("The roof is new.", "The roof leaks."),
    "rent": ("The rent is low.", "The rent is high."),
    "noise": ("The street is quiet.", "Trucks pass the windows all night."),
    "parking": ("There is a car park next door.", "There is nowhere to park."),
    "heating": ("The heating is cheap to run.", "The heating fails every winter."),
    "bus": ("A bus stops at the door.", "The nearest bus stop is two miles away."),
    "storage": ("The cellar is dry and large.", "There is no room to store anything."),
    "owner": ("The owner answers within a day.", "The owner never answers."),
    "lift": ("A lift reaches every floor.", "Loads must be carried up three floors."),
    "wiring": ("The wiring was renewed last year.", "The wiring is not safe."),
    "water": ("The water pressure is good.", "The pipes burst twice last year."),
    "internet": ("The internet connection is fast.", "There is no internet connection."),
    "walls": ("The walls keep out the cold.", "There is mould on the walls."),
    "entrance": ("The entrance has no steps.", "The entrance is too narrow for a cart."),
    "kitchen": ("The kitchen is large.", "There is no kitchen."),
    "safety": ("Nothing was ever stolen there.", "There were three burglaries this year."),
    "neighbours": ("The neighbours are helpful.", "The neighbours want to sue."),
    "floor": ("The floor carries heavy machines.", "The floor has started to sink."),
    "windows": ("The windows are easy to clean.", "Half of the windows are broken."),
    "yard": ("The yard is wide enough for a truck.", "The yard is under water when it rains."),
    "lease": ("The lease can end at any month.", "The lease binds for ten years."),
    "permit": ("All permits are granted.", "A permit was refused last month."),
    "air": ("The air is clean.", "A tannery makes the air smell."),
}
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
