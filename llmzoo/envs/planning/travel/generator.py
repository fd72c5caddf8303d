"""Draws trips of which one choice of cities keeps the budget, and which neither agent can know alone.

Every visited city takes two nights and one day without travel, since all stays that suit ask for two nights
where several cities are visited. So the cheapest plan costs, for each person, a sum over its cities:
``2 * nightly + meals`` each, where ``nightly`` (half of the return ticket and a night) is in the booker's tables
and ``meals`` (of the full day) in the guide's. For the right cities this sum is ``total``, for the others
``total + GAP``; the budget leaves less than ``GAP`` to spare. ``nightly`` is drawn uniformly and without regard
to which cities are right, and ``meals`` is what is left. The booker's tables therefore say nothing about the
right cities. The guide's rule some cities out: where ``meals`` is so high or so low that no ``nightly`` would
lead to one of the two sums.

Around the cheapest plan are cheaper stays, transport and restaurants that break a constraint, and dearer ones
that break none.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.planning.travel import words
from llmzoo.envs.planning.travel.tasks import (
    CAR_SEATS,
    FLIGHT,
    KINDS_OF_ROOM,
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
)

MAX_PEOPLE = 6
NIGHTLY = (60, 110)  # dollars a person, both included
TOTAL = (280, 320)  # a person and city, of the cheapest choice
TICKETS = (15, 45)  # a person and leg, for the end at the origin
GAP = 8  # by which another city is dearer for a person
MAX_TREAT_COST = (
    9  # by which a restaurant with a cuisine that is asked for is dearer than the third cheapest
)
MAX_VISITS, MAX_CANDIDATES = 3, 6
KINDS = ("rule", "room", "cuisine", "transport")


class TravelLevel(NamedTuple):
    """``visits``: the cities of a trip. ``candidates``: those that it may choose from. ``wishes``: how many
    of ``KINDS`` are asked for."""

    visits: int
    candidates: int
    wishes: int


LEVELS = {
    "easy": TravelLevel(1, 4, 1),
    "normal": TravelLevel(2, 4, 2),
    "hard": TravelLevel(3, 5, 4),
}


def check_arguments(visits: int, candidates: int, wishes: int) -> None:
    """Raises ``ConfigError`` for tasks that cannot be drawn."""
    check_range("visits", visits, 1, MAX_VISITS)
    check_range("candidates", candidates, visits + 1, MAX_CANDIDATES)
    check_range("wishes", wishes, 0, len(KINDS))


def sample_task(rng: random.Random, *, visits: int, candidates: int, wishes: int) -> TripTask:
    """A trip of ``2 * visits + 1`` days to ``visits`` of ``candidates`` cities."""
    origin, *cities = rng.sample(words.TOWNS, candidates + 1)
    people = rng.randint(1, MAX_PEOPLE)
    asked = rng.sample(KINDS, wishes)
    rule = rng.choice(RULES) if "rule" in asked else ""
    room = rng.choice(list(ROOMS)) if "room" in asked else ""
    wanted = rng.sample(words.CUISINES, rng.randint(1, visits)) if "cuisine" in asked else []
    unwanted = rng.choice((NO_FLIGHT, NO_SELF_DRIVING)) if "transport" in asked else ""

    total, tickets = rng.randint(*TOTAL), rng.randint(*TICKETS)
    right = set(rng.sample(range(candidates), visits))
    nightly = [rng.randint(*NIGHTLY) for _ in cities]
    fares = [rng.randint(10, 40) for _ in cities]  # for the other end of a leg
    meals = [total + GAP * (n not in right) - 2 * nightly[n] for n in range(candidates)]
    least = visits * total + 2 * tickets + MAX_TREAT_COST * len(wanted)

    ends = dict(zip((origin, *cities), (tickets, *fares), strict=True))
    lodging = [night - fare for night, fare in zip(nightly, fares, strict=True)]
    return TripTask(
        origin=origin,
        region=rng.choice(words.REGIONS),
        cities=tuple(cities),
        visits=visits,
        days=2 * visits + 1,
        people=people,
        budget=people * least + rng.randrange(people * GAP),
        rule=rule,
        room=room,
        cuisines=tuple(wanted),
        transport=unwanted,
        transports=tuple(_sample_transports(rng, ends, origin, people, unwanted, tour=visits > 1)),
        stays=tuple(_sample_stays(rng, cities, lodging, people, rule, room, fixed=visits > 1)),
        restaurants=tuple(_sample_restaurants(rng, cities, meals, wanted)),
        sights=tuple(map(Sight, words.sample_sight_names(rng, 3 * candidates), 3 * cities)),
    )


def _sample_transports(
    rng: random.Random,
    ends: dict[str, int],
    origin: str,
    people: int,
    unwanted: str,
    *,
    tour: bool,
) -> list[Transport]:
    """All legs, those between cities only for a ``tour`` of several. The cheapest way that can be used costs the
    sum of the fares of both ends for each person."""
    by_car = unwanted == NO_FLIGHT or (unwanted == "" and rng.random() < 0.5)
    cars, taxis = (ceil(people / CAR_SEATS[mode]) for mode in (SELF_DRIVING, TAXI))
    numbers = iter(rng.sample(range(100, 1000), 2 * len(ends) ** 2))
    ways = []
    for start in ends:
        for end in ends:
            if start == end or (not tour and origin not in (start, end)):
                continue
            fare = ends[start] + ends[end]
            # the cheapest way, one that may not be used, and dearer ones
            flight, drive = (fare, people * fare // cars)
            cheaper = rng.uniform(0.5, 0.9)
            if by_car:
                factor = cheaper if unwanted == NO_FLIGHT else rng.uniform(1.1, 1.5)
                flight = ceil(fare * factor)
            else:
                # where it is not forbidden to drive, it leads nowhere: no road leads back
                drive = max(1, int(drive * cheaper))
            ways.append(Transport(FLIGHT, start, end, flight, f"F{next(numbers)}"))
            if rng.random() < 0.5:
                more = ceil(max(flight, fare) * rng.uniform(1.1, 1.6))
                ways.append(Transport(FLIGHT, start, end, more, f"F{next(numbers)}"))
            if by_car or unwanted == NO_SELF_DRIVING or end != origin:
                ways.append(Transport(SELF_DRIVING, start, end, drive))
            taxi = ceil(people * fare * rng.uniform(1.2, 2.0) / taxis)
            ways.append(Transport(TAXI, start, end, taxi))
    return ways


class _StayOffer(NamedTuple):
    """A stay to make. ``night``: what it costs all people; ``kind`` of room, "" for one that suits; ``most``
    people in a room, 0 for any number."""

    night: float
    nights: int
    kind: str = ""
    banned: bool = False
    most: int = 0


def _sample_stays(
    rng: random.Random,
    cities: Sequence[str],
    lodging: Sequence[int],
    people: int,
    rule: str,
    room: str,
    *,
    fixed: bool,
) -> list[Stay]:
    """Five stays in each city, the cheapest that suits for ``lodging`` a person and night.

    ``fixed``: all that suit ask for two nights.
    """
    names = iter(words.sample_stay_names(rng, 5 * len(cities)))
    others = [each for each in RULES if each != rule]
    suiting = [kind for kind in KINDS_OF_ROOM if kind not in ROOMS.get(room, ())]
    stays = []
    for city, share in zip(cities, lodging, strict=True):
        offers = _sample_offers(rng, people * share, people, bool(rule), suiting, fixed=fixed)
        for offer in rng.sample(offers, len(offers)):
            most = offer.most or rng.randint(1, MAX_PEOPLE)
            price = ceil(offer.night / ceil(people / most))
            kind = offer.kind or rng.choice(suiting)
            forbids = rng.sample(others, rng.randint(0, 2)) + [rule] * offer.banned
            forbids.sort(key=RULES.index)
            stays.append(Stay(next(names), city, price, kind, tuple(forbids), offer.nights, most))
    return stays


def _sample_offers(
    rng: random.Random,
    cost: int,
    people: int,
    rule: bool,
    suiting: Sequence[str],
    *,
    fixed: bool,
) -> list[_StayOffer]:
    """Of a city: the cheapest that suits, cheaper ones that break a constraint, and dearer ones."""
    # as many in a room as lead to a price in whole dollars
    exact = [most for most in range(1, MAX_PEOPLE + 1) if cost % ceil(people / most) == 0]
    nights = 2 if fixed else rng.randint(1, 2)
    unsuited = [kind for kind in KINDS_OF_ROOM if kind not in suiting]
    if rule and (not unsuited or rng.random() < 0.5):
        trap = _StayOffer(cost * rng.uniform(0.5, 0.9), rng.randint(1, 2), banned=True)
    elif unsuited:
        trap = _StayOffer(cost * rng.uniform(0.5, 0.9), rng.randint(1, 2), rng.choice(unsuited))
    else:
        trap = _StayOffer(cost * rng.uniform(0.5, 0.9), rng.randint(3, 5))
    return [
        _StayOffer(cost, nights, most=rng.choice(exact)),
        trap,
        _StayOffer(cost * rng.uniform(0.5, 0.9), rng.randint(3, 5)),
        _StayOffer(cost * rng.uniform(1.2, 1.8), nights),
        # many small rooms: cheap for one, dear for all
        _StayOffer(cost * rng.uniform(1.2, 1.6), 2, most=1),
    ]


def _sample_restaurants(
    rng: random.Random, cities: Sequence[str], meals: Sequence[int], wanted: Sequence[str]
) -> list[Restaurant]:
    """Three cheap ones in each city, together for ``meals``; one for each cuisine that is asked for; and
    dear ones."""
    per_city = 6 + len(wanted)
    names = iter(words.sample_restaurant_names(rng, per_city * len(cities)))
    plain = [c for c in (*words.CUISINES, *words.OTHER_CUISINES) if c not in wanted]
    restaurants = []
    for city, whole in zip(cities, meals, strict=True):
        first = whole // 3 - rng.randint(0, whole // 12)
        second = (whole - first) // 2 - rng.randint(0, whole // 24)
        third = whole - first - second
        costs: list[tuple[int, list[str]]] = [(cost, []) for cost in (first, second, third)]
        costs += [(third + MAX_TREAT_COST, [cuisine]) for cuisine in wanted]
        for _ in range(3):
            # no two of those that are asked for: that would be cheaper than one each
            served = rng.sample(wanted, 1) if wanted and rng.random() < 0.5 else []
            costs.append((third + MAX_TREAT_COST + rng.randint(1, 40), served))
        here = []
        for cost, cuisines in costs:
            served = [*cuisines, *rng.sample(plain, rng.randint(1, 3))]
            here.append(Restaurant(next(names), city, cost, tuple(rng.sample(served, len(served)))))
        restaurants += rng.sample(here, len(here))
    return restaurants
