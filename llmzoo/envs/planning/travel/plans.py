"""Reads what the agents write: a line for each day, with fields that have names.

The booker's line is ``day 1: city: Aldin -> Brome; transport: flight F123; stay: Harbour Inn``, the guide's
``day 1: breakfast: -; lunch: -; dinner: Blue Spoon; sights: Old Mill | Tower``. An agent that plans alone writes
all seven fields. ``-`` stands for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.planning.travel.tasks import MEALS
from llmzoo.envs.text import MalformedError

BOOKER_FIELDS = ("city", "transport", "stay")
GUIDE_FIELDS = (*MEALS, "sights")
NOTHING = "-"

_LINE = re.compile(
    r"[ \t*`>#-]{0,8}day[ \t]{0,3}(\d{1,2})[*`]{0,4}[ \t]?:[*`]{0,4}(.*)", re.IGNORECASE
)

Fields = Mapping[str, str]  # of a day; "" for nothing


class Day(NamedTuple):
    """A day of the plan. ``cities``: two on a day of travel, else one; () if they are not known.
    ``meals``: breakfast, lunch and dinner. "" for nothing."""

    number: int
    cities: tuple[str, ...] = ()
    transport: str = ""
    stay: str = ""
    meals: tuple[str, str, str] = ("", "", "")
    sights: tuple[str, ...] = ()

    @property
    def is_travel_day(self) -> bool:
        return len(self.cities) > 1


def parse_plan(text: str, fields: Sequence[str], days: int) -> tuple[Fields, ...]:
    """The fields of each day; the last line that begins with the day counts.

    Raises :class:`MalformedError` if a day or a field is missing, and for a field or a day that is not asked for.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise MalformedError(f"answer longer than {MAX_ACTION_CHARS} characters")
    lines = {int(m[1]): m[2] for m in map(_LINE.match, text.splitlines()) if m}
    if not lines:
        raise MalformedError(f"no line such as: day 1: {fields[0]}: ...; {fields[1]}: ...")
    for day in range(1, days + 1):
        if day not in lines:
            raise MalformedError(f"no line for day {day}")
    if max(lines) > days or min(lines) < 1:
        raise MalformedError(f"a trip of {days} days has days 1 to {days}")
    return tuple(_parse_fields(lines[day], fields, day) for day in range(1, days + 1))


def _parse_fields(line: str, fields: Sequence[str], day: int) -> Fields:
    found: dict[str, str] = {}
    for part in filter(str.strip, line.split(";")):
        name, colon, value = part.partition(":")
        name = name.strip().lower()
        if not colon or name not in fields:
            raise MalformedError(f"day {day}: {name[:40]!r} is not one of {', '.join(fields)}")
        if name in found:
            raise MalformedError(f"day {day}: {name} is written twice")
        value = " ".join(value.split())
        found[name] = "" if value == NOTHING else value
    for name in fields:
        if name not in found:
            raise MalformedError(f"day {day}: no {name}")
    return found


def merge_halves(
    booked: Sequence[Fields] | None, visited: Sequence[Fields] | None, days: int
) -> list[Day]:
    """The days of two halves; None for a half that cannot be read."""
    plan = []
    for number in range(days):
        day = Day(number + 1)
        if booked is not None:
            cities, transport, stay = (booked[number][name] for name in BOOKER_FIELDS)
            day = day._replace(cities=_split_list(cities, "->"), transport=transport, stay=stay)
        if visited is not None:
            breakfast, lunch, dinner, sights = (visited[number][name] for name in GUIDE_FIELDS)
            meals = (breakfast, lunch, dinner)
            day = day._replace(meals=meals, sights=_split_list(sights, "|"))
        plan.append(day)
    return plan


def format_plan(days: Iterable[Day], fields: Sequence[str]) -> str:
    """The lines of a plan."""
    return "\n".join(
        f"day {day.number}: "
        + "; ".join(f"{name}: {_field_value(day, name) or NOTHING}" for name in fields)
        for day in days
    )


def _field_value(day: Day, name: str) -> str:
    if name == "city":
        return " -> ".join(day.cities)
    if name == "sights":
        return " | ".join(day.sights)
    if name in MEALS:
        return day.meals[MEALS.index(name)]
    return day.transport if name == "transport" else day.stay


def _split_list(text: str, mark: str) -> tuple[str, ...]:
    return tuple(part for part in map(str.strip, text.split(mark)) if part not in ("", NOTHING))
