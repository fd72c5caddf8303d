"""Invented names of regions, towns, inns, eating places and sights."""

from __future__ import annotations

import random
from collections.abc import Sequence

REGIONS = ("Norvale", "Esterland", "Kellmark", "Sundrey", "Westmoor", "Oskany")
TOWNS = (
    *("Aldin", "Brome", "Carlow", "Dunmere", "Elster", "Farnby", "Gorwick", "Halden", "Ilvane"),
    *("Jessop", "Kirrin", "Lorne", "Mardale", "Nethby", "Orlen", "Pelham", "Quarry", "Rushden"),
    *("Selby", "Torvik", "Ulm", "Varley", "Wexcot", "Yarrow"),
)
CUISINES = ("American", "Chinese", "French", "Indian", "Italian", "Mediterranean", "Mexican")
OTHER_CUISINES = ("Bakery", "Cafe", "Desserts", "Fast Food", "Seafood", "Tea")

_STAYS = (
    ("Harbour", "Garden", "Station", "Hill", "River", "Market", "Orchard", "Corner", "Lantern"),
    ("Inn", "House", "Rooms", "Lodge", "Loft", "Hostel", "Court"),
)
_RESTAURANTS = (
    ("Blue", "Copper", "Old", "Little", "Golden", "Green", "Quiet", "Merry", "Salt", "Red"),
    ("Spoon", "Kettle", "Table", "Oven", "Pepper", "Plate", "Goose", "Lemon", "Bowl"),
)
_SIGHTS = (
    ("North", "Royal", "Stone", "Glass", "Weavers'", "Sailors'", "Abbey", "Castle", "Miners'"),
    ("Tower", "Museum", "Park", "Bridge", "Gallery", "Mill", "Gardens"),
)


def sample_stay_names(rng: random.Random, count: int) -> list[str]:
    return _sample_names(rng, count, *_STAYS)


def sample_restaurant_names(rng: random.Random, count: int) -> list[str]:
    return _sample_names(rng, count, *_RESTAURANTS)


def sample_sight_names(rng: random.Random, count: int) -> list[str]:
    return _sample_names(rng, count, *_SIGHTS)


def _sample_names(
    rng: random.Random, count: int, first: Sequence[str], last: Sequence[str]
) -> list[str]:
    """Different names of two words."""
    return rng.sample([f"{a} {b}" for a in first for b in last], count)
