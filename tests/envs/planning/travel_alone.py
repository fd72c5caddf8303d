"""The choices of cities that fit what a guide reads, counted.

The generator draws each city's nightly cost uniformly and independently of which cities are right, and takes
for its meals what is left of the sum. So all choices for which some nightly costs would lead to these meals are
equally likely. The sum of the right cities is given here, which a guide does not know: the count is a bound.
"""

from __future__ import annotations

import random
from itertools import combinations

from llmzoo.envs.planning.travel import generator
from llmzoo.envs.planning.travel.generator import GAP, NIGHTLY, TICKETS, TOTAL
from llmzoo.envs.planning.travel.solver import Solver
from llmzoo.envs.planning.travel.tasks import SELF_DRIVING, TripTask


class Watched(random.Random):
    """Draws as usual, and keeps what no table says: the sum of a right city, and the origin's share of a fare."""

    total = share = 0

    def randint(self, a, b):
        drawn = super().randint(a, b)
        if (a, b) == TOTAL:
            self.total = drawn
        if (a, b) == TICKETS:
            self.share = drawn
        return drawn

    def trip(self, level: str) -> TripTask:
        return generator.sample_task(self, **generator.LEVELS[level]._asdict())


def right_cities(task: TripTask) -> frozenset[str]:
    """The cities of the cheapest trip."""
    found = Solver(task).best()
    assert found is not None
    return frozenset(stop.city for stop in found[1])


def sum_of(task: TripTask, city: str, share: int) -> float:
    """What a city costs a person: its end of the legs there and back, two nights, and the meals of a day."""
    rents = [
        task.nightly_cost(stay)
        for stay in task.stays
        if stay.city == city
        and stay.nights <= 2
        and task.suits_rule(stay)
        and task.suits_room(stay)
    ]
    back = [way for way in task.ways(city, task.origin) if task.allows(way)]
    by_car = (
        min(back, key=task.fare).mode == SELF_DRIVING
    )  # the cheapest way back is that of the trip
    ways = [way for way in task.ways(task.origin, city) if task.allows(way)]
    fare = min(task.fare(way) for way in ways if (way.mode == SELF_DRIVING) == by_car)
    return 2 * (fare / task.people - share) + 2 * min(rents) / task.people + meals(task, city)


def meals(task: TripTask, city: str) -> int:
    """What the cheapest meals of a day in a city cost a person."""
    cost = Solver(task).cheapest_meal_cost(city, 1)
    assert cost is not None
    return cost // task.people


def choices_that_fit(task: TripTask, total: int) -> list[frozenset[str]]:
    """The choices of cities for which every city has a nightly cost that leads to its meals."""
    return [
        frozenset(chosen)
        for chosen in combinations(task.cities, task.visits)
        if all(
            _fits(total + GAP * (city not in chosen) - meals(task, city)) for city in task.cities
        )
    ]


def _fits(twice_nightly: int) -> bool:
    low, high = NIGHTLY
    return twice_nightly % 2 == 0 and 2 * low <= twice_nightly <= 2 * high
