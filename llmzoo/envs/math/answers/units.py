"""Units of measurement after a number: which are one unit, and how they convert."""

from __future__ import annotations

import re
from fractions import Fraction

# dimension: names with their size in one of the dimension's units
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "mm millimeter millimetre": "1/1000",
        "cm centimeter centimetre": "1/100",
        "dm decimeter decimetre": "1/10",
        "m meter metre": "1",
        "km kilometer kilometre": "1000",
        "in inch inches": "254/10000",
        "ft foot feet": "3048/10000",
        "yd yard": "9144/10000",
        "mi mile": "1609344/1000",
    },
    "mass": {
        "mg milligram": "1/1000",
        "g gram": "1",
        "kg kilogram": "1000",
        "t ton tonne": "1000000",
        "lb lbs pound": "45359237/100000",
        "oz ounce": "45359237/1600000",
    },
    "time": {
        "ms millisecond": "1/1000",
        "s sec second": "1",
        "min minute": "60",
        "h hr hour": "3600",
        "day": "86400",
        "week": "604800",
        "month": "2592000",
        "yr year": "31536000",
    },
    "volume": {
        "ml milliliter millilitre": "1/1000",
        "L l liter litre": "1",
        "gal gallon": "3785411784/1000000000",
    },
    "angle": {"° deg degree": "1", "rad radian": "0"},  # a degree is no rational part of a radian
    "money": {"cent cents": "1/100", "$ dollar dollars usd": "1"},
    "money €": {"€ euro euros": "1"},
    "money £": {"£ pounds_sterling": "1"},
    "speed": {"mph": "1609344/3600000", "kmh kmph kph": "1000/3600"},
}
_SQUARES = re.compile(r"(?:square|sq)[. ]+|\^?\{?2\}?$|\s+squared$")
_CUBES = re.compile(r"(?:cubic|cu)[. ]+|\^?\{?3\}?$|\s+cubed$")
_NAMES: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(size))
    for dimension, units in _TABLE.items()
    for names, size in units.items()
    for name in names.split()
}
ABBREVIATIONS = frozenset(name for name in _NAMES if name.isalpha() and len(name) > 1)
SINGLE_LETTERS = frozenset(name for name in _NAMES if name.isalpha() and len(name) == 1)
# letters that only a time of day makes words of
_NAMES |= {half: (half, Fraction(1)) for half in ("am", "pm")}


def known(text: str) -> tuple[str, Fraction] | None:
    """Dimension and size of a unit such as ``cm``, ``square feet`` or ``m^3``; None for others."""
    text = text.strip(" .").replace("«", "").replace("»", "").strip()
    power = 1
    for pattern, exponent in ((_SQUARES, 2), (_CUBES, 3)):
        stripped = pattern.sub("", text, count=1).strip()
        if stripped != text:
            text, power = stripped, exponent
            break
    found = _NAMES.get(text) or _NAMES.get(text.lower()) or _NAMES.get(text.lower().rstrip("s"))
    if found is None:
        return None
    dimension, size = found
    return (dimension if power == 1 else f"{dimension}^{power}"), size**power
