"""Units of measurement after a number: which are one unit, and how they convert."""

from __future__ import annotations

import re
from fractions import Fraction

# dimension: names with their size in one of the dimension's units
_TABLE: dict[str, dict[str, str]] = {
    "length": {
        "nm nanometer nanometre": "1/1000000000",
        "μm micrometer micrometre micron": "1/1000000",
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
        "cl centiliter centilitre": "1/100",
        "dl deciliter decilitre": "1/10",
        "L l liter litre": "1",
        "gal gallon": "3785411784/1000000000",
    },
    "angle": {"° deg degree": "1", "rad radian": "0"},  # a degree is no rational part of a radian
    "money": {"cent cents": "1/100", "$ dollar dollars usd": "1"},
    "money €": {"€ euro euros": "1"},
    "money £": {"£ pounds_sterling": "1"},
    "speed": {
        "mph miles_per_hour miles/hour mi/h": "1609344/3600000",
        "kmh kmph kph km/h km/hr kilometers_per_hour kilometres_per_hour": "1000/3600",
        "m/s meters_per_second metres_per_second": "1",
    },
}
# words after a number that make another number of it
MULTIPLES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
MULTIPLES |= {"trillion": 10**12, "lakh": 10**5, "crore": 10**7}
# and those that say that it is not what it seems
NO_UNITS = frozenset(
    """not never no none nor neither without except excluding wrong incorrect false least most more
    less fewer greater than between below above under over plus minus times divided multiplied
    negative too factorial choose mod modulo base half halves third thirds fourths fifths tenths
    sixths sevenths eighths ninths twelfths tens gross score log ln sin cos tan sine cosine tangent
    sqrt reciprocal inverse inverted negated opposite reversed backwards flipped minimum maximum sign
    among etc hundredths thousandths and or either power root maybe perhaps unless other""".split()  # noqa: SIM905
)
CHANGING = NO_UNITS | {"twice", "thrice", "double", "triple", "any"}  # before a name
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
    text = " ".join(text.replace("«", " ").replace("»", " ").strip(" .").split())
    text = text.replace(" / ", "/")
    power = 1
    for pattern, exponent in ((_SQUARES, 2), (_CUBES, 3)):
        stripped = pattern.sub("", text, count=1).strip()
        if stripped != text:
            text, power = stripped, exponent
            break
    names = [text.replace(" ", "_")]
    if not re.search(r"\bper\b|[/*^]", text):
        names += text.split()[:1]  # as of "feet of rope"
    found = next((f for name in names if (f := _named(name)) is not None), None)
    if found is None:
        return None
    dimension, size = found
    return (dimension if power == 1 else f"{dimension}^{power}"), size**power


def _named(name: str) -> tuple[str, Fraction] | None:
    lower = name.lower()
    return _NAMES.get(name) or _NAMES.get(lower) or _NAMES.get(lower.rstrip("s"))
