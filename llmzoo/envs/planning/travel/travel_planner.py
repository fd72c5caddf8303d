"""TravelPlanner (arXiv 2402.01622): records whose tables are texts.

``reference_information`` is a list of ``{"Description": ..., "Content": ...}``, itself written as a Python literal.
A content is a table, a sentence on a car or taxi, or a sentence that there is nothing. What is not understood
makes a record bad, so that nothing that can be booked is lost. A place without a price, or with fewer than one
person or night, cannot be chosen and is left out, as is the second of two places with one name in one city.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from llmzoo.envs import hub, sources
from llmzoo.envs.planning.travel import tables
from llmzoo.envs.planning.travel.tasks import (
    FLIGHT,
    NO_FLIGHT,
    NO_SELF_DRIVING,
    ROOMS,
    RULES,
    SELF_DRIVING,
    TAXI,
    Restaurant,
    Sight,
    Stay,
    Transport,
    TripTask,
    normalize_name,
)
from llmzoo.envs.sources import BadField, PublicSet

HUB_ID = "osunlp/TravelPlanner"
CONFIGURATIONS = ("train", "validation")  # those of the rows with a budget and wishes
MAX_LITERAL_CHARS = 2_000_000

_REFERENCE = "reference_information"
_WISHES = "local_constraint"
_ATTRACTIONS = ("Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City")
_RESTAURANTS = ("Name", "Average Cost", "Cuisines", "Aggregate Rating", "City")
_ACCOMMODATIONS = (
    *("NAME", "price", "room type", "house_rules", "minimum nights", "maximum occupancy"),
    *("review rate number", "city"),
)
_FLIGHTS = (
    *("Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate"),
    *("OriginCityName", "DestCityName", "Distance"),
)
_PLACES = re.compile(r"(Attractions|Restaurants|Accommodations) in (.+)")
_LEG = re.compile(r"(Flight|Self-driving|Taxi) from (.+?) to (.+?)(?: on (\d{4}-\d{2}-\d{2}))?")
_COST = re.compile(r"\bcost: (\d{1,9})\b")
_NOTHING = re.compile(r"no valid information|there (?:is|are) no\b", re.IGNORECASE)
_KINDS = {
    "Shared room": "shared room",
    "Private room": "private room",
    "Entire home/apt": "entire home",
}
_MODES = {"Self-driving": SELF_DRIVING, "Taxi": TAXI}

P = TypeVar("P", Stay, Restaurant, Sight)


def task_from_record(record: Mapping[str, Any]) -> TripTask:
    """The task of a record; raises ``BadField``."""
    wishes = _get_wishes(record)
    dates = _parse_literal(record, "date", list)
    entries = [_parse_entry(entry) for entry in _parse_literal(record, _REFERENCE, list)]
    origin = _clean_name(sources.get_field(record, "org", str))
    cities = tuple(
        dict.fromkeys(
            _clean_name(match[2]) for title, _ in entries if (match := _PLACES.fullmatch(title))
        )
    )
    transports: list[Transport] = []
    places: dict[str, list[Any]] = {"Attractions": [], "Restaurants": [], "Accommodations": []}
    for title, content in entries:
        if leg := _LEG.fullmatch(title):
            transports += _parse_transports(leg, content, dates)
        elif table := _PLACES.fullmatch(title):
            places[table[1]] += _parse_places(table[1], _clean_name(table[2]), content)
        else:
            raise BadField(_REFERENCE, f"has an entry that is not understood: {title[:80]!r}")
    days, visits = _get_number(record, "days"), _get_number(record, "visiting_city_number")
    if not 1 <= visits <= len(cities) or not visits < days <= 14:
        raise BadField(
            "visiting_city_number", f"is {visits} of {len(cities)} cities in {days} days"
        )
    region = sources.get_field(record, "dest", str)
    return TripTask(
        origin=origin,
        region="" if _clean_name(region) in cities else _clean_name(region),
        cities=cities,
        visits=visits,
        days=days,
        people=_get_number(record, "people_number"),
        budget=_get_number(record, "budget"),
        rule=_get_wish("house rule", wishes, RULES),
        room=_get_wish("room type", wishes, tuple(ROOMS)),
        cuisines=_parse_cuisines(wishes),
        transport=_get_wish("transportation", wishes, (NO_FLIGHT, NO_SELF_DRIVING)),
        transports=tuple(dict.fromkeys(transports)),
        stays=_drop_duplicates(places["Accommodations"]),
        restaurants=_drop_duplicates(places["Restaurants"]),
        sights=_drop_duplicates(places["Attractions"]),
    )


def _get_wishes(record: Mapping[str, Any]) -> Mapping[str, Any]:
    wishes = _parse_literal(record, _WISHES, dict)
    for name in wishes:
        if name not in ("house rule", "cuisine", "room type", "transportation"):
            raise BadField(_WISHES, f"asks for {str(name)[:40]!r}, which is not understood")
    return wishes


def _get_wish(name: str, wishes: Mapping[str, Any], known: Sequence[str]) -> str:
    value = wishes.get(name)
    if value is None:
        return ""
    if value not in known:
        raise BadField(
            _WISHES, f"has {name} {str(value)[:40]!r}, which is none of {', '.join(known)}"
        )
    return str(value)


def _parse_cuisines(wishes: Mapping[str, Any]) -> tuple[str, ...]:
    value = wishes.get("cuisine") or []
    if not isinstance(value, list) or not all(isinstance(c, str) for c in value) or len(value) > 5:
        raise BadField(_WISHES, "has cuisine that is not a list of at most 5 texts")
    return tuple(dict.fromkeys(map(_clean_name, value)))


def _parse_entry(entry: Any) -> tuple[str, str]:
    if isinstance(entry, Mapping):
        title, content = entry.get("Description"), entry.get("Content")
        if isinstance(title, str) and isinstance(content, str):
            return title, content
    raise BadField(_REFERENCE, "must be a list of entries with Description and Content")


def _parse_transports(
    leg: re.Match[str], content: str, dates: Sequence[Any]
) -> Iterator[Transport]:
    origin, destination = _clean_name(leg[2]), _clean_name(leg[3])
    if leg[1] != "Flight":
        cost = _COST.search(content)
        if cost:
            yield Transport(_MODES[leg[1]], origin, destination, int(cost[1]))
        elif not _NOTHING.search(content):
            raise BadField(_REFERENCE, f"has {leg[0]!r} without a cost")
        return
    for row in _parse_rows(content, _FLIGHTS, leg[0]):
        if row["FlightDate"] not in dates:
            raise BadField(
                _REFERENCE, f"has a flight on {row['FlightDate'][:40]!r}, not a day of the trip"
            )
        day = dates.index(row["FlightDate"]) + 1
        price = _parse_amount(row["Price"])
        if price is not None:
            yield Transport(
                FLIGHT, origin, destination, price, _clean_name(row["Flight Number"]), day
            )


def _parse_places(kind: str, city: str, content: str) -> Iterator[Stay | Restaurant | Sight]:
    title = f"{kind} in {city}"
    if kind == "Attractions":
        for row in _parse_rows(content, _ATTRACTIONS, title):
            yield Sight(_clean_name(row["Name"]), city)
    elif kind == "Restaurants":
        for row in _parse_rows(content, _RESTAURANTS, title):
            cost = _parse_amount(row["Average Cost"])
            if cost is not None:
                cuisines = filter(None, map(_clean_name, row["Cuisines"].split(",")))
                yield Restaurant(
                    _clean_name(row["Name"]), city, cost, tuple(dict.fromkeys(cuisines))
                )
    else:
        for row in _parse_rows(content, _ACCOMMODATIONS, title):
            price, nights, people = (
                _parse_amount(row[name])
                for name in ("price", "minimum nights", "maximum occupancy")
            )
            if row["room type"] not in _KINDS:
                raise BadField(_REFERENCE, f"has the room type {row['room type'][:40]!r}")
            if price is not None and nights and people:
                kind_of_room = _KINDS[row["room type"]]
                forbids = _parse_house_rules(row["house_rules"])
                yield Stay(
                    _clean_name(row["NAME"]), city, price, kind_of_room, forbids, nights, people
                )


def _parse_rows(content: str, columns: Sequence[str], title: str) -> list[dict[str, str]]:
    """The rows of a table; none where a sentence says that there are none."""
    if "\n" not in content.strip("\n") and _NOTHING.search(content):
        return []
    try:
        return tables.parse_table(content, columns)
    except ValueError as error:
        raise BadField(
            _REFERENCE, f"has a table {title!r} that is not understood: {error}"
        ) from None


def _parse_house_rules(rules: str) -> tuple[str, ...]:
    """Of "No pets & No smoking": smoking and pets."""
    phrases = {normalize_name(rule).removeprefix("no ") for rule in rules.split("&")}
    return tuple(rule for rule in RULES if rule in phrases)


def _parse_amount(text: str) -> int | None:
    """A price in whole dollars, or a number; None for none. Half a dollar and more counts as one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value + 0.5) if 0 <= value < 1e9 else None


def _drop_duplicates(places: Iterable[P]) -> tuple[P, ...]:
    """The places without names that cannot be written, and of a name in a city only the first."""
    first: dict[tuple[str, str], P] = {}
    for place in places:
        if place.name.strip("- "):
            first.setdefault((normalize_name(place.name), place.city), place)
    return tuple(first.values())


def _clean_name(text: str) -> str:
    """A name without the marks that have a meaning in a plan."""
    for mark, other in ((";", ","), ("|", "/"), ("->", "-")):
        text = text.replace(mark, other)
    return " ".join(text.split())


def _get_number(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < 1e9:
        raise BadField(name, f"must be a number from 1 on, got {str(value)[:40]!r}")
    return int(value)


def _parse_literal(record: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """A list or mapping, which may be written as the text of a Python literal."""
    value = record.get(name)
    if isinstance(value, str):
        if len(value) > MAX_LITERAL_CHARS:
            raise BadField(name, f"is longer than {MAX_LITERAL_CHARS:,} characters")
        try:
            value = ast.literal_eval(value.strip())  # literals only: nothing is executed
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise BadField(name, "is not the text of a Python literal") from None
    if not isinstance(value, kind):
        raise BadField(name, f"must be a {kind.__name__} or its text")
    return value


def iter_hub_records() -> Iterator[Mapping[str, Any]]:
    """The rows of the configurations that can be judged."""
    for configuration in CONFIGURATIONS:
        for _, record in hub.load_records(HUB_ID, (configuration,), None):
            yield record


PUBLIC_SET = PublicSet(
    hub_id=HUB_ID,
    read=task_from_record,
    sample=Path(__file__).parent / "sample.jsonl",
    hub_records=iter_hub_records,
)
