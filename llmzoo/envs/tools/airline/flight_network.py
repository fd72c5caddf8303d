"""The flights of drawn tasks: a month of a network of our own, the same for all of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from llmzoo.envs.tools.airline.database import AIRPORTS, CABINS, NOW, TODAY
from llmzoo.envs.tools.service.tables import Record

DATES = tuple(f"2024-05-{day:02d}" for day in range(1, 31))
UPCOMING = tuple(date for date in DATES if date > TODAY)
PAIRS = 60  # of cities that are served in both directions
PRICES = {"basic_economy": (50, 110), "economy": (100, 210), "business": (200, 510)}  # dollars


class Leg(NamedTuple):
    """A flight on a date."""

    number: str
    date: str

    def info(self) -> dict[str, str]:
        return {"flight_number": self.number, "date": self.date}


@dataclass(frozen=True, eq=False)
class Network:
    """flights: by number. routes: the numbers of the flights of each pair of airports. by_status: all legs."""

    flights: Mapping[str, Record]
    routes: Mapping[tuple[str, str], tuple[str, ...]]
    by_status: Mapping[str, tuple[Leg, ...]]

    def status(self, leg: Leg) -> Record:
        found: Record = self.flights[leg.number]["dates"][leg.date]
        return found

    def ends(self, leg: Leg) -> tuple[str, str]:
        flight = self.flights[leg.number]
        return flight["origin"], flight["destination"]

    def departure_time(self, leg: Leg) -> str:
        return str(self.flights[leg.number]["scheduled_departure_time_est"])

    def bookable(self, route: tuple[str, str], date: str) -> list[Leg]:
        """The flights of a route that can be booked on a date."""
        legs = (Leg(number, date) for number in self.routes[route])
        return [leg for leg in legs if self.status(leg)["status"] == "available"]

    def price(self, leg: Leg, cabin: str, rng: random.Random) -> int:
        """Its price; a draw for a flight that has none any more."""
        prices = self.status(leg).get("prices")
        return int(prices[cabin]) if prices else rng.randrange(*PRICES[cabin])


@lru_cache(maxsize=1)
def network() -> Network:
    rng = random.Random("airline network")
    pairs = rng.sample(sorted(combinations(AIRPORTS, 2)), PAIRS)
    flights: dict[str, Record] = {}
    routes: dict[tuple[str, str], tuple[str, ...]] = {}
    for one, other in pairs:
        minutes = 5 * rng.randrange(15, 70)
        for route in ((one, other), (other, one)):
            hours = rng.sample(range(6, 23), rng.choice((2, 2, 3)))
            numbers = []
            for hour in sorted(hours):
                numbers.append(f"LZ{len(flights) + 101}")
                start = 60 * hour + 5 * rng.randrange(12)
                flights[numbers[-1]] = _flight(numbers[-1], route, start, start + minutes, rng)
            routes[route] = tuple(numbers)
    legs: dict[str, list[Leg]] = {}
    for number, flight in flights.items():
        for date, status in flight["dates"].items():
            legs.setdefault(status["status"], []).append(Leg(number, date))
    return Network(flights, routes, {name: tuple(found) for name, found in legs.items()})


def _flight(
    number: str, route: Sequence[str], start: int, end: int, rng: random.Random
) -> dict[str, Any]:
    return {
        **{"flight_number": number, "origin": route[0], "destination": route[1]},
        "scheduled_departure_time_est": _time(start),
        "scheduled_arrival_time_est": _time(end),
        "dates": {date: _status(date, start, end, rng) for date in DATES},
    }


def _status(date: str, start: int, end: int, rng: random.Random) -> dict[str, Any]:
    """What has become of a flight by now. start, end: minutes of the day, by the timetable."""
    late = 5 * rng.randrange(0, 4)
    now = 60 * int(NOW[11:13]) if date == TODAY else 0
    if rng.random() < 0.06:
        return {"status": "cancelled"}
    if date > TODAY:
        return {
            "status": "available",
            "available_seats": {cabin: rng.randrange(2, 20) for cabin in CABINS},
            "prices": {cabin: rng.randrange(*PRICES[cabin]) for cabin in CABINS},
        }
    if date < TODAY or end + late < now:
        return {
            "status": "landed",
            "actual_departure_time_est": _moment(date, start + late),
            "actual_arrival_time_est": _moment(date, end + late),
        }
    if start + late < now:
        return {
            "status": "flying",
            "actual_departure_time_est": _moment(date, start + late),
            "estimated_arrival_time_est": _moment(date, end + late),
        }
    delayed = rng.random() < 0.5
    late = 5 * rng.randrange(9, 40) if delayed else 0
    return {
        "status": "delayed" if delayed else "on time",
        "estimated_departure_time_est": _moment(date, start + late),
        "estimated_arrival_time_est": _moment(date, end + late),
    }


def _time(minutes: int) -> str:
    """A time of the timetable: HH:MM:SS, and +1 if it is on the next day."""
    days, rest = divmod(minutes, 24 * 60)
    return f"{rest // 60:02d}:{rest % 60:02d}:00{'+1' * days}"


def _moment(date: str, minutes: int) -> str:
    days, rest = divmod(minutes, 24 * 60)
    return f"{date[:8]}{int(date[8:]) + days:02d}T{rest // 60:02d}:{rest % 60:02d}:00"
