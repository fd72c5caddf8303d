"""What a task is: a request for a trip, and the tables of what can be booked and visited.

Prices and costs are in dollars. Days are numbered from 1. Names are compared without regard to case and to
the number of spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, permutations, product
from math import ceil
from typing import NamedTuple, TypeVar

FLIGHT, SELF_DRIVING, TAXI = "flight", "self-driving", "taxi"
CAR_SEATS = {SELF_DRIVING: 5, TAXI: 4}
RULES = ("smoking", "parties", "children under 10", "visitors", "pets")  # what a stay may forbid
KINDS_OF_ROOM = ("shared room", "private room", "entire home")
# what may be asked of the room, and the kinds of room that do not suit
ROOMS = {
    "shared room": ("private room", "entire home"),
    "not shared room": ("shared room",),
    "private room": ("shared room", "entire home"),
    "entire room": ("shared room", "private room"),
}
NO_FLIGHT, NO_SELF_DRIVING = "no flight", "no self-driving"
MEALS = ("breakfast", "lunch", "dinner")


class Transport(NamedTuple):
    """A way from one city to another. ``price``: of a seat on a flight, or of a car. ``number``: of a
    flight. ``day``: on which a flight leaves; 0 for every day."""

    mode: str
    origin: str
    destination: str
    price: int
    number: str = ""
    day: int = 0


class Stay(NamedTuple):
    """A place to sleep. ``price``: of a room for a night. ``forbids``: some of ``RULES``. ``nights``: the
    fewest that can be booked. ``people``: the most in a room."""

    name: str
    city: str
    price: int
    room: str
    forbids: tuple[str, ...]
    nights: int
    people: int


class Restaurant(NamedTuple):
    """``cost``: of a meal for one."""

    name: str
    city: str
    cost: int
    cuisines: tuple[str, ...]


class Sight(NamedTuple):
    name: str
    city: str


Place = TypeVar("Place", Stay, Restaurant, Sight)


@dataclass(frozen=True)
class TripTask:
    """A request and its tables.

    ``cities``: those that may be visited, ``visits`` of them are. ``rule``: what the stays must allow, of
    ``RULES``. ``room``: of ``ROOMS``. ``cuisines``: each is wanted at one meal at least. ``transport``:
    ``NO_FLIGHT`` or ``NO_SELF_DRIVING``. "" and () for no wish. ``region``: where the cities are.
    """

    origin: str
    region: str
    cities: tuple[str, ...]
    visits: int
    days: int
    people: int
    budget: int
    rule: str
    room: str
    cuisines: tuple[str, ...]
    transport: str
    transports: tuple[Transport, ...]
    stays: tuple[Stay, ...]
    restaurants: tuple[Restaurant, ...]
    sights: tuple[Sight, ...]

    @property
    def full_days(self) -> int:
        """The days without travel, if each city is reached once."""
        return self.days - self.visits - 1

    # Costs, for all people

    def fare(self, transport: Transport) -> int:
        if transport.mode == FLIGHT:
            return transport.price * self.people
        return transport.price * ceil(self.people / CAR_SEATS[transport.mode])

    def nightly_cost(self, stay: Stay) -> int:
        """Of a night."""
        return stay.price * ceil(self.people / stay.people)

    def meal_cost(self, restaurant: Restaurant) -> int:
        return restaurant.cost * self.people

    # Single constraints

    def suits_rule(self, stay: Stay) -> bool:
        return self.rule not in stay.forbids

    def suits_room(self, stay: Stay) -> bool:
        return not self.room or stay.room not in ROOMS[self.room]

    def allows(self, transport: Transport) -> bool:
        return self.transport != f"no {transport.mode}"

    # Names

    def city(self, text: str) -> str | None:
        """The city of this name, the origin included."""
        return self._city_names.get(normalize_name(text))

    def stay(self, text: str, cities: Sequence[str]) -> Stay | None:
        """The stay of this name, in one of ``cities`` if possible, the last of them first."""
        return _pick_by_city(self._stay_names.get(normalize_name(text), ()), cities)

    def find_restaurant(self, text: str, cities: Sequence[str]) -> Restaurant | None:
        return _pick_by_city(self._restaurant_names.get(normalize_name(text), ()), cities)

    def find_sight(self, text: str, cities: Sequence[str]) -> Sight | None:
        return _pick_by_city(self._sight_names.get(normalize_name(text), ()), cities)

    def ways(self, origin: str, destination: str) -> tuple[Transport, ...]:
        return self._legs.get((origin, destination), ())

    def flights(self, number: str) -> tuple[Transport, ...]:
        return self._flight_numbers.get(normalize_name(number), ())

    @cached_property
    def _city_names(self) -> dict[str, str]:
        return {normalize_name(city): city for city in (self.origin, *self.cities)}

    @cached_property
    def _stay_names(self) -> dict[str, tuple[Stay, ...]]:
        return _by_name(self.stays)

    @cached_property
    def _restaurant_names(self) -> dict[str, tuple[Restaurant, ...]]:
        return _by_name(self.restaurants)

    @cached_property
    def _sight_names(self) -> dict[str, tuple[Sight, ...]]:
        return _by_name(self.sights)

    @cached_property
    def _legs(self) -> dict[tuple[str, str], tuple[Transport, ...]]:
        legs: dict[tuple[str, str], tuple[Transport, ...]] = {}
        for way in self.transports:
            leg = way.origin, way.destination
            legs[leg] = (*legs.get(leg, ()), way)
        return legs

    @cached_property
    def _flight_numbers(self) -> dict[str, tuple[Transport, ...]]:
        flights: dict[str, tuple[Transport, ...]] = {}
        for way in self.transports:
            if way.mode == FLIGHT:
                name = normalize_name(way.number)
                flights[name] = (*flights.get(name, ()), way)
        return flights


def normalize_name(name: str) -> str:
    return " ".join(name.split()).casefold()


def display_name(
    place: Stay | Restaurant | Sight, others: Sequence[Stay | Restaurant | Sight]
) -> str:
    """The name of a place, with its city if ``others`` has the name in another city too."""
    alike = sum(normalize_name(other.name) == normalize_name(place.name) for other in others)
    return place.name if alike == 1 else f"{place.name}, {place.city}"


def _by_name(places: Sequence[Place]) -> dict[str, tuple[Place, ...]]:
    """The places of each name, and of each name with its city; of one city only the first."""
    named: dict[str, dict[str, Place]] = {}
    for place in places:
        for name in (normalize_name(place.name), normalize_name(f"{place.name}, {place.city}")):
            named.setdefault(name, {}).setdefault(place.city, place)
    return {name: tuple(of_city.values()) for name, of_city in named.items()}


def _pick_by_city(places: Sequence[Place], cities: Sequence[str]) -> Place | None:
    for city in reversed(cities):
        for place in places:
            if place.city == city:
                return place
    return places[0] if places else None


def canonical(task: TripTask) -> str:
    """The same text for tasks that differ only by names, by the order of the cities or of the tables, by
    which rule, kind of room or cuisine is asked for, or by the direction of the trip, and for numbers of
    people and prices that lead to the same costs."""
    return min(
        _canonical_text(task, cuisines, backwards)
        for cuisines in permutations(task.cuisines)
        for backwards in (False, True)
    )


def _canonical_text(task: TripTask, cuisines: Sequence[str], backwards: bool) -> str:
    profiles = {city: _city_profile(task, city, cuisines, backwards) for city in task.cities}
    ranked = sorted(task.cities, key=profiles.__getitem__)
    groups = [list(group) for _, group in groupby(ranked, key=profiles.__getitem__)]
    between = min(
        repr([_usable_transports(task, a, b, backwards) for a in order for b in order if a != b])
        for order in _city_orders(groups)
    )
    head = f"{task.days} {task.visits} {task.budget} {len(cuisines)}"
    return "|".join([head, *(profiles[city] for city in ranked), between])


def _city_orders(groups: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The orders of the cities in which those with another profile keep theirs."""
    for chosen in product(*map(permutations, groups)):
        yield [city for group in chosen for city in group]


def _city_profile(task: TripTask, city: str, cuisines: Sequence[str], backwards: bool) -> str:
    stays = sorted(
        (task.nightly_cost(s), s.nights)
        for s in task.stays
        if s.city == city and task.suits_rule(s) and task.suits_room(s)
    )
    meals = sorted(
        (task.meal_cost(r), [c in r.cuisines for c in cuisines])
        for r in task.restaurants
        if r.city == city
    )
    sights = sum(sight.city == city for sight in task.sights)
    there = (
        _usable_transports(task, task.origin, city, backwards),
        _usable_transports(task, city, task.origin, backwards),
    )
    return repr((stays, meals, sights, there))


def _usable_transports(
    task: TripTask, a: str, b: str, backwards: bool
) -> list[tuple[bool, int, int]]:
    """Of a leg that may be used: whether one drives oneself, what it costs, and on which day."""
    if backwards:
        a, b = b, a
    return sorted(
        (
            way.mode == SELF_DRIVING,
            task.fare(way),
            task.days + 1 - way.day if way.day and backwards else way.day,
        )
        for way in task.ways(a, b)
        if task.allows(way)
    )
