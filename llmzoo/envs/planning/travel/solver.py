"""Finds cheapest bookings and meals, exactly.

A route is fixed by its stops: cities in their order, each with a number of nights. Given the route, transport
and stays are one problem and meals another, so that the best plan is the best over all routes of the sum of two
costs. That is also how two agents can plan: each computes its own part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product
from typing import NamedTuple

from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.tasks import (
    SELF_DRIVING,
    Restaurant,
    Stay,
    Transport,
    TripTask,
    display_name,
)

MORE_MEALS = 3  # those of the day of arrival, which may serve a cuisine


class RouteStop(NamedTuple):
    city: str
    nights: int


Route = tuple[RouteStop, ...]


class Booking(NamedTuple):
    """``ways``: to each stop and back. ``stays``: one for each stop."""

    cost: int
    ways: tuple[Transport, ...]
    stays: tuple[Stay, ...]


class Menu(NamedTuple):
    """The restaurants at each stop."""

    cost: int
    places: tuple[tuple[Restaurant, ...], ...]


# by the cuisines that they serve (a bit each): restaurants and their cost
Dishes = dict[int, tuple[int, tuple[Restaurant, ...]]]


class Solver:
    """The cheapest plans of a task. An agent that does not know some tables passes a task without them."""

    def __init__(self, task: TripTask):
        self.task = task
        self._dishes: dict[tuple[str, int], Dishes] = {}
        self._stays: dict[RouteStop, Stay | None] = {}

    def routes(self) -> Iterator[Route]:
        """All routes, in the order of the task's cities."""
        shares = list(_split_nights(self.task.days - 1, self.task.visits))
        for cities in permutations(self.task.cities, self.task.visits):
            for nights in shares:
                yield tuple(map(RouteStop, cities, nights))

    def cheapest_booking(self, route: Route) -> Booking | None:
        """The cheapest transport and stays of a route; None if there are none."""
        stays = tuple(stay for stay in map(self._stay, route) if stay)
        ways = self._cheapest_transports(route) if len(stays) == len(route) else None
        if ways is None:
            return None
        rents = sum(
            self.task.nightly_cost(stay) * stop.nights
            for stay, stop in zip(stays, route, strict=True)
        )
        return Booking(rents + sum(map(self.task.fare, ways)), ways, stays)

    def cheapest_bookings(self) -> list[tuple[Booking, Route]]:
        """The cheapest booking of each set of cities, the cheapest first."""
        best: dict[frozenset[str], tuple[Booking, Route]] = {}
        for route in self.routes():
            found = self.cheapest_booking(route)
            cities = frozenset(stop.city for stop in route)
            if found and (cities not in best or found.cost < best[cities][0].cost):
                best[cities] = found, route
        return sorted(best.values(), key=lambda pair: pair[0].cost)

    def cheapest_menu(self, route: Route) -> Menu | None:
        """The cheapest meals of a route, with the cuisines that are asked for."""
        whole = (1 << len(self.task.cuisines)) - 1
        reached: dict[int, Menu] = {0: Menu(0, ())}
        for stop in route:
            following: dict[int, Menu] = {}
            for had, menu in reached.items():
                for mask, (cost, places) in self.dishes(stop.city, stop.nights - 1).items():
                    known = following.get(had | mask)
                    total = menu.cost + cost
                    if known is None or total < known.cost:
                        following[had | mask] = Menu(total, (*menu.places, places))
            reached = following
        return reached.get(whole)

    def cheapest_meal_cost(self, city: str, full_days: int) -> int | None:
        """Of the cheapest meals of some full days, whatever the cuisines; None if there are too few
        restaurants, or too few sights."""
        if sum(sight.city == city for sight in self.task.sights) < full_days:
            return None
        bills = sorted(
            self.task.meal_cost(place) for place in self.task.restaurants if place.city == city
        )
        return sum(bills[: 3 * full_days]) if len(bills) >= 3 * full_days else None

    def best(self) -> tuple[int, Route] | None:
        """The least cost of a plan and its route; None if there is no plan, whatever the budget."""
        found: tuple[int, Route] | None = None
        for route in self.routes():
            if any(self.cheapest_meal_cost(stop.city, stop.nights - 1) is None for stop in route):
                continue
            booking = self.cheapest_booking(route)
            menu = self.cheapest_menu(route) if booking else None
            if booking and menu and (found is None or booking.cost + menu.cost < found[0]):
                found = booking.cost + menu.cost, route
        return found

    def dishes(self, city: str, full_days: int) -> Dishes:
        """The cheapest restaurants for three meals a full day, and up to ``MORE_MEALS`` more."""
        key = city, full_days
        if key not in self._dishes:
            self._dishes[key] = self._cheapest_dishes(city, 3 * full_days)
        return self._dishes[key]

    def _cheapest_dishes(self, city: str, least: int) -> Dishes:
        most = least + MORE_MEALS
        reached: dict[tuple[int, int], tuple[int, tuple[Restaurant, ...]]] = {(0, 0): (0, ())}
        for place in self.task.restaurants:
            if place.city != city:
                continue
            serves = sum(1 << n for n, c in enumerate(self.task.cuisines) if c in place.cuisines)
            bill = self.task.meal_cost(place)
            for (count, mask), (cost, places) in list(reached.items()):
                key = count + 1, mask | serves
                if count < most and (key not in reached or cost + bill < reached[key][0]):
                    reached[key] = cost + bill, (*places, place)
        best: Dishes = {}
        for (count, mask), found in reached.items():
            if count >= least and (mask not in best or found[0] < best[mask][0]):
                best[mask] = found
        return best

    def _stay(self, stop: RouteStop) -> Stay | None:
        if stop not in self._stays:
            suiting = [
                stay
                for stay in self.task.stays
                if stay.city == stop.city
                and stay.nights <= stop.nights
                and self.task.suits_rule(stay)
                and self.task.suits_room(stay)
            ]
            self._stays[stop] = min(suiting, key=self.task.nightly_cost, default=None)
        return self._stays[stop]

    def _cheapest_transports(self, route: Route) -> tuple[Transport, ...] | None:
        """The cheapest transport: with one's own car all the way, or with flights and taxis."""
        cities = [self.task.origin, *(stop.city for stop in route), self.task.origin]
        leaving = [
            1 + sum(stop.nights for stop in route[:number]) for number in range(len(route) + 1)
        ]
        tours = []
        for driving in (True, False):
            legs = [
                [
                    way
                    for way in self.task.ways(*leg)
                    if (way.mode == SELF_DRIVING) == driving
                    and way.day in (0, day)
                    and self.task.allows(way)
                ]
                for leg, day in zip(pairwise(cities), leaving, strict=True)
            ]
            if all(legs):
                tours.append(tuple(min(leg, key=self.task.fare) for leg in legs))
        return min(tours, key=lambda tour: sum(map(self.task.fare, tour)), default=None)


def booker_days(task: TripTask, route: Route, booking: Booking) -> list[Day]:
    """The booker's half of a plan."""
    days: list[Day] = []
    here = task.origin
    for stop, way, stay in zip(route, booking.ways, booking.stays, strict=False):
        name = display_name(stay, task.stays)
        days += [Day(len(days) + 1, (here, stop.city), _format_transport(way), name)]
        days += [Day(len(days) + n, (stop.city,), "", name) for n in range(1, stop.nights)]
        here = stop.city
    return [*days, Day(len(days) + 1, (here, task.origin), _format_transport(booking.ways[-1]))]


def guide_days(task: TripTask, route: Route, places: Sequence[Sequence[Restaurant]]) -> list[Day]:
    """The guide's half of a plan."""
    days: list[Day] = []
    for stop, restaurants in zip(route, places, strict=True):
        names = [display_name(place, task.restaurants) for place in restaurants]
        full, more = 3 * (stop.nights - 1), names[3 * (stop.nights - 1) :]
        seen = [
            display_name(sight, task.sights) for sight in task.sights if sight.city == stop.city
        ]
        days += [Day(len(days) + 1, meals=_assign_meals(more))]
        for number, first in enumerate(range(0, full, 3)):
            meals = _assign_meals(names[first : min(first + 3, full)])
            days += [Day(len(days) + 1, meals=meals, sights=tuple(seen[number : number + 1]))]
    return [*days, Day(len(days) + 1)]


def _assign_meals(names: Sequence[str]) -> tuple[str, str, str]:
    """Dinner first where there are fewer than three."""
    breakfast, lunch, dinner = [*[""] * (3 - len(names)), *names]
    return breakfast, lunch, dinner


def _format_transport(way: Transport) -> str:
    return f"{way.mode} {way.number}".strip()


def _split_nights(nights: int, stops: int) -> Iterator[tuple[int, ...]]:
    """The ways to share nights among stops, at least one each."""
    for shares in product(range(1, nights + 1), repeat=stops):
        if sum(shares) == nights:
            yield shares
