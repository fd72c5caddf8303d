"""Finds the cheapest trip plans, exactly.

A route is a sequence of stops: cities, each with a number of nights. Once the route is fixed,
bookings (transport and stays) and meals are independent problems. So the cheapest plan is the route
with the least sum of two costs. Two agents can plan in the same way: each computes one of the two
costs.
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

MAX_ARRIVAL_MEALS = 3  # meals are optional on the day of arrival, but may add a required cuisine


class RouteStop(NamedTuple):
    city: str
    nights: int


Route = tuple[RouteStop, ...]


class Booking(NamedTuple):
    """``transports``: to each stop, and back to the origin. ``stays``: one for each stop."""

    cost: int
    transports: tuple[Transport, ...]
    stays: tuple[Stay, ...]


class Menu(NamedTuple):
    """``restaurants``: those at each stop."""

    cost: int
    restaurants: tuple[tuple[Restaurant, ...], ...]


# maps a bit mask of cuisines to the cheapest restaurants that serve them, with their cost
MealOptions = dict[int, tuple[int, tuple[Restaurant, ...]]]


class Solver:
    """Finds the cheapest plans of a task, which may lack the tables that an agent does not know."""

    def __init__(self, task: TripTask):
        self.task = task
        self._meal_options: dict[tuple[str, int], MealOptions] = {}
        self._stays: dict[RouteStop, Stay | None] = {}

    def routes(self) -> Iterator[Route]:
        """All routes, in the order of the task's cities."""
        splits = list(_split_nights(self.task.days - 1, self.task.visits))
        for cities in permutations(self.task.cities, self.task.visits):
            for nights in splits:
                yield tuple(map(RouteStop, cities, nights))

    def cheapest_booking(self, route: Route) -> Booking | None:
        """The cheapest transport and stays of a route; None if it cannot be booked."""
        stays = tuple(stay for stay in map(self._stay, route) if stay)
        transports = self._cheapest_transports(route) if len(stays) == len(route) else None
        if transports is None:
            return None
        rents = sum(
            self.task.nightly_cost(stay) * stop.nights
            for stay, stop in zip(stays, route, strict=True)
        )
        return Booking(rents + sum(map(self.task.fare, transports)), transports, stays)

    def cheapest_bookings(self) -> list[tuple[Booking, Route]]:
        """The cheapest booking for each set of cities, in order of cost."""
        best: dict[frozenset[str], tuple[Booking, Route]] = {}
        for route in self.routes():
            booking = self.cheapest_booking(route)
            cities = frozenset(stop.city for stop in route)
            if booking and (cities not in best or booking.cost < best[cities][0].cost):
                best[cities] = booking, route
        return sorted(best.values(), key=lambda pair: pair[0].cost)

    def cheapest_menu(self, route: Route) -> Menu | None:
        """The cheapest meals of a route with all cuisines of the task; None if there are none."""
        all_cuisines = (1 << len(self.task.cuisines)) - 1
        cheapest: dict[int, Menu] = {0: Menu(0, ())}  # by the cuisines that it serves
        for stop in route:
            extended: dict[int, Menu] = {}
            for served, menu in cheapest.items():
                options = self.meal_options(stop.city, stop.nights - 1)
                for mask, (cost, restaurants) in options.items():
                    known = extended.get(served | mask)
                    total = menu.cost + cost
                    if known is None or total < known.cost:
                        extended[served | mask] = Menu(total, (*menu.restaurants, restaurants))
            cheapest = extended
        return cheapest.get(all_cuisines)

    def cheapest_meal_cost(self, city: str, full_days: int) -> int | None:
        """The cost of the cheapest meals on the full days in a city, whatever the cuisines.

        None if the city has too few restaurants or sights.
        """
        if sum(sight.city == city for sight in self.task.sights) < full_days:
            return None
        costs = sorted(
            self.task.meal_cost(restaurant)
            for restaurant in self.task.restaurants
            if restaurant.city == city
        )
        return sum(costs[: 3 * full_days]) if len(costs) >= 3 * full_days else None

    def best(self) -> tuple[int, Route] | None:
        """The cost and the route of the cheapest plan; None if there is no plan at any budget."""
        found: tuple[int, Route] | None = None
        for route in self.routes():
            if any(self.cheapest_meal_cost(stop.city, stop.nights - 1) is None for stop in route):
                continue
            booking = self.cheapest_booking(route)
            menu = self.cheapest_menu(route) if booking else None
            if booking and menu and (found is None or booking.cost + menu.cost < found[0]):
                found = booking.cost + menu.cost, route
        return found

    def meal_options(self, city: str, full_days: int) -> MealOptions:
        """The cheapest restaurants in a city, for each set of cuisines that they can serve.

        There are three for each full day, and up to ``MAX_ARRIVAL_MEALS`` more.
        """
        key = city, full_days
        if key not in self._meal_options:
            self._meal_options[key] = self._cheapest_meal_options(city, 3 * full_days)
        return self._meal_options[key]

    def _cheapest_meal_options(self, city: str, min_meals: int) -> MealOptions:
        max_meals = min_meals + MAX_ARRIVAL_MEALS
        # by the number of meals and the cuisines that they serve
        cheapest: dict[tuple[int, int], tuple[int, tuple[Restaurant, ...]]] = {(0, 0): (0, ())}
        for restaurant in self.task.restaurants:
            if restaurant.city != city:
                continue
            served = sum(
                1 << n for n, c in enumerate(self.task.cuisines) if c in restaurant.cuisines
            )
            price = self.task.meal_cost(restaurant)
            for (count, mask), (cost, restaurants) in list(cheapest.items()):
                key = count + 1, mask | served
                if count < max_meals and (key not in cheapest or cost + price < cheapest[key][0]):
                    cheapest[key] = cost + price, (*restaurants, restaurant)
        best: MealOptions = {}
        for (count, mask), option in cheapest.items():
            if count >= min_meals and (mask not in best or option[0] < best[mask][0]):
                best[mask] = option
        return best

    def _stay(self, stop: RouteStop) -> Stay | None:
        if stop not in self._stays:
            suitable = [
                stay
                for stay in self.task.stays
                if stay.city == stop.city
                and stay.nights <= stop.nights
                and self.task.suits_rule(stay)
                and self.task.suits_room(stay)
            ]
            self._stays[stop] = min(suitable, key=self.task.nightly_cost, default=None)
        return self._stays[stop]

    def _cheapest_transports(self, route: Route) -> tuple[Transport, ...] | None:
        """The cheapest transport of a route. Either all legs are self-driving, or none is."""
        cities = [self.task.origin, *(stop.city for stop in route), self.task.origin]
        departure_days = [
            1 + sum(stop.nights for stop in route[:number]) for number in range(len(route) + 1)
        ]
        tours = []
        for driving in (True, False):
            legs = [
                [
                    transport
                    for transport in self.task.ways(*leg)
                    if (transport.mode == SELF_DRIVING) == driving
                    and transport.day in (0, day)
                    and self.task.allows(transport)
                ]
                for leg, day in zip(pairwise(cities), departure_days, strict=True)
            ]
            if all(legs):
                tours.append(tuple(min(leg, key=self.task.fare) for leg in legs))
        return min(tours, key=lambda tour: sum(map(self.task.fare, tour)), default=None)


def booker_days(task: TripTask, route: Route, booking: Booking) -> list[Day]:
    """The booker's half of a plan: cities, transport and stays."""
    days: list[Day] = []
    here = task.origin
    for stop, transport, stay in zip(route, booking.transports, booking.stays, strict=False):
        name = display_name(stay, task.stays)
        days += [Day(len(days) + 1, (here, stop.city), _format_transport(transport), name)]
        days += [Day(len(days) + n, (stop.city,), "", name) for n in range(1, stop.nights)]
        here = stop.city
    way_home = _format_transport(booking.transports[-1])
    return [*days, Day(len(days) + 1, (here, task.origin), way_home)]


def guide_days(
    task: TripTask, route: Route, restaurants: Sequence[Sequence[Restaurant]]
) -> list[Day]:
    """The guide's half of a plan: meals and sights."""
    days: list[Day] = []
    for stop, stop_restaurants in zip(route, restaurants, strict=True):
        names = [display_name(place, task.restaurants) for place in stop_restaurants]
        full_day_meals = 3 * (stop.nights - 1)
        sights = [
            display_name(sight, task.sights) for sight in task.sights if sight.city == stop.city
        ]
        days += [Day(len(days) + 1, meals=_assign_meals(names[full_day_meals:]))]
        for number, first in enumerate(range(0, full_day_meals, 3)):
            meals = _assign_meals(names[first : min(first + 3, full_day_meals)])
            days += [Day(len(days) + 1, meals=meals, sights=tuple(sights[number : number + 1]))]
    return [*days, Day(len(days) + 1)]


def _assign_meals(names: Sequence[str]) -> tuple[str, str, str]:
    """Breakfast, lunch and dinner. Fewer than three names fill the later meals."""
    breakfast, lunch, dinner = [*[""] * (3 - len(names)), *names]
    return breakfast, lunch, dinner


def _format_transport(transport: Transport) -> str:
    return f"{transport.mode} {transport.number}".strip()


def _split_nights(nights: int, stops: int) -> Iterator[tuple[int, ...]]:
    """All ways to distribute nights among stops, at least one night each."""
    for split in product(range(1, nights + 1), repeat=stops):
        if sum(split) == nights:
            yield split
