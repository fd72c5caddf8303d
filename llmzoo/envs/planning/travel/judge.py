"""Judges a plan by TravelPlanner's constraints (arXiv 2402.01622). Pure functions, one for each constraint.

The eight of common sense: ``tables`` (everything named is in the tables), ``complete``, ``city`` (everything is
in the city of the day), ``route``, ``restaurants`` (none twice), ``sights`` (none twice), ``modes`` (no
self-driving along with flights or taxis) and ``nights`` (the fewest that a stay asks for). The five of the
request: ``budget``, ``rule``, ``room``, ``cuisine`` and ``transport``. A plan passes if all hold.

The rules are those of the set's own ``evaluation`` folder, except that here:

* a day says its cities once, and transport is named without them: the flight must fly between the cities of
  the day, on this day. There the date of a flight is not compared.
* a place is in the city whose table lists it. There the city that the plan writes beside the name is compared.
* a stay that must allow parties must not forbid them; there the value is misspelt, and never compared.
* names must be those of the tables, where a part of a name is enough there.
* all sights of a day count; there the last one is dropped if no semicolon follows it.
* a meal that is taken in the city of departure serves no wish for a cuisine, and the other meals of the day
  may still do so.
* that half of all fields are filled is not asked: it follows from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.tasks import (
    CAR_SEATS,
    FLIGHT,
    SELF_DRIVING,
    Restaurant,
    Sight,
    Stay,
    Transport,
    TripTask,
    normalize_name,
)

Plan = Sequence[Day]


def check_constraints(task: TripTask, plan: Plan) -> dict[str, bool]:
    """For each constraint, whether a plan of both halves keeps it."""
    return {
        "tables": has_listed_bookings(task, plan) and has_listed_visits(task, plan),
        "complete": has_complete_booking(task, plan) and all(map(_is_filled, plan)),
        "city": has_bookings_in_city(task, plan)
        and all(has_visits_in_city(task, day) for day in plan),
        **{
            name: holds(task, plan)
            for name, holds in (BOOKER_CONSTRAINTS | GUIDE_CONSTRAINTS).items()
        },
        "budget": total_cost(task, plan) <= task.budget,
    }


def has_listed_bookings(task: TripTask, plan: Plan) -> bool:
    """Whether all transport and stays are offered."""
    ways = all(
        _find_transport(task, day) or _find_misplaced_flight(task, day)
        for day in plan
        if day.transport
    )
    return ways and all(task.stay(day.stay, day.cities) for day in plan if day.stay)


def has_listed_visits(task: TripTask, plan: Plan) -> bool:
    """Whether all restaurants and sights exist."""
    return all(
        all(task.find_restaurant(meal, day.cities) for meal in day.meals if meal)
        and all(task.find_sight(sight, day.cities) for sight in day.sights)
        for day in plan
    )


def has_complete_booking(task: TripTask, plan: Plan) -> bool:
    """Whether as many cities are visited as asked for, each day of travel has transport, and each night a
    stay."""
    visited = {task.city(city) or normalize_name(city) for day in plan for city in day.cities}
    return (
        len(visited - {task.origin}) == task.visits
        and all(day.transport for day in plan if day.is_travel_day)
        and all(day.stay for day in plan[:-1])
        and all(day.cities for day in plan)
    )


def has_complete_visits(task: TripTask, plan: Plan) -> bool:
    """Whether enough days have three meals and a sight for the days without travel, whichever they are."""
    return sum(bool(all(day.meals) and day.sights) for day in plan) >= task.full_days


def has_bookings_in_city(task: TripTask, plan: Plan) -> bool:
    """Whether flights go from the first city of their day to the second, and stays are in the last. What is
    not in the tables is judged there."""
    for day in plan:
        if _find_transport(task, day) is None and _find_misplaced_flight(task, day):
            return False
        stay = task.stay(day.stay, day.cities)
        if stay and (not day.cities or stay.city != task.city(day.cities[-1])):
            return False
    return True


def has_visits_in_city(task: TripTask, day: Day) -> bool:
    """Whether all restaurants and sights of a day are in one of its cities."""
    cities = {task.city(city) for city in day.cities}
    places = [*_find_restaurants(task, [day]), *_find_sights(task, [day])]
    return all(place is None or place.city in cities for place in places)


def fits_cities(task: TripTask, day: Day) -> bool:
    """Whether the guide's part of a day suits its cities: all is there, and a day without travel is full."""
    return bool(day.cities) and has_visits_in_city(task, day) and _is_filled(day)


def has_valid_route(task: TripTask, plan: Plan) -> bool:
    """Whether the trip begins and ends at the origin, moves on from where it was, stays a night in each
    city, comes to none a second time, and visits those that were asked for."""
    if any(len(day.cities) not in (1, 2) for day in plan):
        return False
    cities = [task.city(city) for day in plan for city in day.cities]
    runs = [(city, len(list(run))) for city, run in groupby(cities)]
    middle = runs[1:-1]
    names = [city for city, _ in middle]
    return (
        len(runs) > 2
        and runs[0][0] == runs[-1][0] == task.origin
        and all(city in task.cities and days > 1 for city, days in middle)
        and len(set(names)) == len(names)
    )


def has_consistent_modes(task: TripTask, plan: Plan) -> bool:
    """Whether the first day has transport, and no self-driving goes along with flights or taxis."""
    named = {_parse_mode(day.transport) for day in plan if day.transport}
    return bool(plan[0].transport) and (SELF_DRIVING not in named or len(named) == 1)


def meets_minimum_nights(task: TripTask, plan: Plan) -> bool:
    """Whether each stay has as many nights in a row as it asks for."""
    stays = [task.stay(day.stay, day.cities) for day in plan]
    return all(stay is None or stay.nights <= len(list(run)) for stay, run in groupby(stays))


def meets_house_rule(task: TripTask, plan: Plan) -> bool:
    return all(task.suits_rule(stay) for stay in _find_stays(task, plan))


def meets_room_type(task: TripTask, plan: Plan) -> bool:
    return all(task.suits_room(stay) for stay in _find_stays(task, plan))


def meets_transport_wish(task: TripTask, plan: Plan) -> bool:
    return all(
        task.transport != f"no {_parse_mode(day.transport)}" for day in plan if day.transport
    )


def has_distinct_restaurants(task: TripTask, plan: Plan) -> bool:
    return _are_distinct(
        [meal for day in plan for meal in day.meals if meal], _find_restaurants(task, plan)
    )


def has_distinct_sights(task: TripTask, plan: Plan) -> bool:
    return _are_distinct([sight for day in plan for sight in day.sights], _find_sights(task, plan))


def has_wished_cuisines(task: TripTask, plan: Plan) -> bool:
    eaten = [
        place for place in _find_restaurants(task, plan) if place and place.city != task.origin
    ]
    return all(any(wish in place.cuisines for place in eaten) for wish in task.cuisines)


def total_cost(task: TripTask, plan: Plan) -> int:
    """Of the plan for all people. What is not in the tables costs nothing."""
    ways = [
        _find_transport(task, day) or _find_misplaced_flight(task, day)
        for day in plan
        if day.transport
    ]
    return (
        sum(task.fare(way) for way in ways if way)
        + sum(task.nightly_cost(stay) for stay in _find_stays(task, plan))
        + sum(task.meal_cost(place) for place in _find_restaurants(task, plan) if place)
    )


# the constraints that an agent can keep by itself, beside the shares of tables, complete and city
Constraint = Callable[[TripTask, Plan], bool]
BOOKER_CONSTRAINTS: dict[str, Constraint] = {
    "route": has_valid_route,
    "modes": has_consistent_modes,
    "nights": meets_minimum_nights,
    "rule": meets_house_rule,
    "room": meets_room_type,
    "transport": meets_transport_wish,
}
GUIDE_CONSTRAINTS: dict[str, Constraint] = {
    "restaurants": has_distinct_restaurants,
    "sights": has_distinct_sights,
    "cuisine": has_wished_cuisines,
}


def _is_filled(day: Day) -> bool:
    """Whether a day of travel, or a day with all meals and a sight."""
    return day.is_travel_day or bool(all(day.meals) and day.sights)


def _parse_mode(text: str) -> str:
    """The mode of a transport; the text itself if it is none."""
    words = text.lower().split()
    return words[0] if words and words[0] in (FLIGHT, *CAR_SEATS) else text


def _find_transport(task: TripTask, day: Day) -> Transport | None:
    """The transport of a day between its cities; None if there is none like it on this day."""
    cities = [task.city(city) for city in day.cities]
    if len(cities) != 2 or cities[0] is None or cities[1] is None:
        return None
    for way in task.ways(cities[0], cities[1]):
        named = f"{way.mode} {way.number}".strip()
        if normalize_name(named) == normalize_name(day.transport) and way.day in (0, day.number):
            return way
    return None


def _find_misplaced_flight(task: TripTask, day: Day) -> Transport | None:
    """A flight of the table that does not fly between the cities of the day, or not on this day."""
    mode, _, number = day.transport.partition(" ")
    flights = task.flights(number) if mode.lower() == FLIGHT else ()
    return flights[0] if flights else None


def _find_stays(task: TripTask, plan: Plan) -> list[Stay]:
    found = (task.stay(day.stay, day.cities) for day in plan if day.stay)
    return [stay for stay in found if stay]


def _find_restaurants(task: TripTask, plan: Plan) -> list[Restaurant | None]:
    return [task.find_restaurant(meal, day.cities) for day in plan for meal in day.meals if meal]


def _find_sights(task: TripTask, plan: Plan) -> list[Sight | None]:
    return [task.find_sight(sight, day.cities) for day in plan for sight in day.sights]


def _are_distinct(
    texts: Sequence[str], places: Sequence[Restaurant | None] | Sequence[Sight | None]
) -> bool:
    """Whether no place is named twice; a text that names none stands for itself."""
    named = [place or normalize_name(text) for text, place in zip(texts, places, strict=True)]
    return len(set(named)) == len(named)
