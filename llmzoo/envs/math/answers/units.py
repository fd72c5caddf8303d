"""Words after a number: units of measurement, multiples such as "million", and words that change it."""

from __future__ import annotations

import re

_SPELLINGS = """nm nanometer nanometre|μm micrometer micrometre micron|mm millimeter millimetre
cm centimeter centimetre|dm decimeter decimetre|m meter metre|km kilometer kilometre
in inch inches|ft foot feet|yd yard|mi mile|mg milligram|g gram|kg kilogram|t ton tonne
lb lbs pound|oz ounce|ms millisecond|s sec second|min minute|h hr hour|day|week|month|yr year
ml milliliter millilitre|cl centiliter centilitre|dl deciliter decilitre|L l liter litre|gal gallon
° deg degree|rad radian|cent cents|$ dollar dollars usd|€ euro euros|£ pounds_sterling|am|pm
mph miles_per_hour miles/hour mi/h|m/s meters_per_second metres_per_second
kmh kmph kph km/h km/hr kilometers_per_hour kilometres_per_hour"""
_UNITS = {name: unit.split()[0] for unit in re.split(r"[|\n]", _SPELLINGS) for name in unit.split()}
ABBREVIATIONS = frozenset(name for name in _UNITS if name.isalpha() and len(name) > 1)
SINGLE_LETTERS = frozenset(name for name in _UNITS if name.isalpha() and len(name) == 1)
# words after a number that multiply it
MULTIPLES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
MULTIPLES |= {"trillion": 10**12, "lakh": 10**5, "crore": 10**7}
# words after a number that change or reject it
NO_UNITS = frozenset(
    """not never no none nor neither without except excluding wrong incorrect false least most more
    less fewer greater than between below above under over plus minus times divided multiplied
    negative too factorial choose mod modulo base half halves third thirds fourths fifths tenths
    sixths sevenths eighths ninths twelfths tens gross score log ln sin cos tan sine cosine tangent
    sqrt reciprocal inverse inverted negated opposite reversed backwards flipped minimum maximum sign
    among etc hundredths thousandths and or either power root maybe perhaps unless other""".split()  # noqa: SIM905
)
VALUE_CHANGING_WORDS = NO_UNITS | {"twice", "thrice", "double", "triple", "any"}  # before a name
_POWERS = {
    2: re.compile(r"(?:square|sq)[. ]+|\^?\{?2\}?$|\s+squared$"),
    3: re.compile(r"(?:cubic|cu)[. ]+|\^?\{?3\}?$|\s+cubed$"),
}


def parse_unit(text: str) -> tuple[str, int] | None:
    """Name and power of a unit such as ``cm``, ``square feet`` or ``m^3``; None for other words."""
    text = " ".join(text.replace("«", " ").replace("»", " ").strip(" .").split())
    text = text.replace(" / ", "/")
    power = 1
    for exponent, pattern in _POWERS.items():
        stripped = pattern.sub("", text, count=1).strip()
        if stripped != text:
            text, power = stripped, exponent
            break
    names = [text.replace(" ", "_")]
    if not re.search(r"\bper\b|[/*^]", text):
        names += text.split()[:1]  # as of "feet of rope"
    for name in names:
        for spelling in (name, name.lower(), name.lower().rstrip("s")):
            if spelling in _UNITS:
                return _UNITS[spelling], power
    return None
