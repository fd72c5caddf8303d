"""Scripted agents: a pair that finds the cheapest trip through messages alone, and noisy experts who err.

The booker's message lists routes with what transport and stays cost: ``1x2 3x2 440`` are two nights in the
first city of the request, two in the third, and $440. The guide's lists what the cheapest meals of one, two, ...
days cost in each city: ``1: 60 130``. Both then add up, and choose the cheapest route. Each agent reads a task
without the other's tables.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from llmzoo.envs.planning.travel.plans import BOOKER_FIELDS, GUIDE_FIELDS, Day, format_plan
from llmzoo.envs.planning.travel.scoring import BOOKER, GUIDE
from llmzoo.envs.planning.travel.solver import Route, RouteStop, Solver, booker_days, guide_days
from llmzoo.envs.planning.travel.tasks import SELF_DRIVING, TripTask

NOTHING_TO_SAY = "no trip"

_STOPS = re.compile(r"(?:\d{1,2}x\d{1,2} ){1,8}")
_STOP = re.compile(r"(\d+)x(\d+)")
_MEALS = re.compile(r"(\d{1,2}):((?: (?:\d{1,7}|-)){1,14})")

Costs = Mapping[Route, int]
Meals = Mapping[tuple[str, int], int]  # by city and number of full days


def with_known_tables(task: TripTask, half: str) -> TripTask:
    """The task without the tables of the other agent."""
    if half == BOOKER:
        return replace(task, restaurants=(), sights=())
    return replace(task, transports=(), stays=())


def expert_message(half: str, task: TripTask, limit: int) -> str:
    if half == GUIDE:
        return _join_within_limit(_format_meals(task, _meal_costs(task)), limit)
    return _join_within_limit(_format_routes(task, _route_costs(task)), limit)


def expert_plan(half: str, task: TripTask, messages: Sequence[str]) -> str:
    """A half of the plan for the cheapest route that both messages lead to."""
    return _format_half(half, task, _choose_route(half, task, messages))


def whole_plan(task: TripTask) -> list[Day]:
    """The cheapest plan, by all tables. Days of a first route without transport if there is none."""
    solver = Solver(task)
    best = solver.best()
    route = best[1] if best else next(solver.routes())
    return [
        here._replace(meals=there.meals, sights=there.sights)
        for here, there in zip(_booker_days(task, route), _guide_days(task, route), strict=True)
    ]


def noisy_expert_message(half: str, task: TripTask, limit: int, rng: random.Random) -> str:
    """The costs, often with a mistake: for one person only, of half of the choices, none at all, or more
    than a message may hold."""
    slip = rng.choice((*["none"] * 10, "alone", "half", "vague", "long"))
    if slip == "alone":
        task = replace(task, people=1)
    if slip == "vague":
        return "Any city will do for me, they all look nice."
    costs = list(
        _format_meals(task, _meal_costs(task))
        if half == GUIDE
        else _format_routes(task, _route_costs(task))
    )
    if slip == "half":
        costs = rng.sample(costs, (len(costs) + 1) // 2)
    if slip == "long":
        return (
            f"This is what I found: {_join_within_limit(costs, limit)}. "
            + "I hope that it helps. " * 100
        )
    return _join_within_limit(costs, limit)


def noisy_expert_plan(
    half: str, task: TripTask, messages: Sequence[str], rng: random.Random
) -> str:
    """A half of a plan, often with a mistake: by its own tables alone, with the cheapest stays or meals
    whatever was asked for, one way by car, or a day too few."""
    slip = rng.choice((*["none"] * 10, "alone", "careless", "twice", "short"))
    if slip == "alone":
        messages = ()
    if slip == "careless":
        task = replace(task, rule="", room="", cuisines=(), transport="")
    text = _format_half(half, task, _choose_route(half, task, messages))
    lines = text.splitlines()
    if slip == "short":
        lines = lines[:-1]
    if slip == "twice":
        lines[0] = re.sub(r"transport: [^;]*", f"transport: {SELF_DRIVING}", lines[0])
        lines[0] = lines[0].replace("dinner: -", f"dinner: {_repeat_dinner(lines)}")
    return "\n".join(["Here is my half.", *lines])


def noisy_expert_whole(task: TripTask, rng: random.Random) -> str:
    """A whole plan with the mistakes of either half."""
    messages = {
        half: expert_message(half, with_known_tables(task, half), 10_000)
        for half in (BOOKER, GUIDE)
    }
    booker, guide = (
        noisy_expert_plan(half, with_known_tables(task, half), [messages[other]], rng).splitlines()
        for half, other in ((BOOKER, GUIDE), (GUIDE, BOOKER))
    )
    joined = (f"{a}; {b.partition(':')[2]}" for a, b in zip(booker[1:], guide[1:], strict=False))
    return "\n".join(["Here is my plan.", *joined])


def _format_half(half: str, task: TripTask, route: Route) -> str:
    if half == BOOKER:
        return format_plan(_booker_days(task, route), BOOKER_FIELDS)
    return format_plan(_guide_days(task, route), GUIDE_FIELDS)


def _booker_days(task: TripTask, route: Route) -> list[Day]:
    booking = Solver(task).cheapest_booking(route)
    return booker_days(task, route, booking) if booking else _empty_days(task, route)


def _guide_days(task: TripTask, route: Route) -> list[Day]:
    menu = Solver(task).cheapest_menu(route)
    return guide_days(task, route, menu.restaurants) if menu else _empty_days(task, route)


def _empty_days(task: TripTask, route: Route) -> list[Day]:
    """The days of a route for which nothing is found."""
    days: list[Day] = []
    here = task.origin
    for stop in (*route, RouteStop(task.origin, 1)):
        days += [Day(len(days) + 1, (here, stop.city))]
        days += [Day(len(days) + n, (stop.city,)) for n in range(1, stop.nights)]
        here = stop.city
    return days


def _choose_route(half: str, task: TripTask, messages: Sequence[str]) -> Route:
    """The cheapest route by the own tables and the last message that tells of the other's."""
    costs, meals = (_route_costs(task), {}) if half == BOOKER else ({}, _meal_costs(task))
    for message in messages:
        if half == BOOKER:
            meals = _parse_meals(task, message) or meals
        else:
            costs = _parse_routes(task, message) or costs
    if half == BOOKER and not costs:
        return next(Solver(task).routes())
    if not costs:
        costs = dict.fromkeys(_even_routes(task), 0)
    if not meals:
        return min(costs, key=costs.__getitem__)
    sums = {
        route: cost + sum(meals.get((s.city, s.nights - 1), 0) for s in route)
        for route, cost in costs.items()
        if all(s.nights == 1 or (s.city, s.nights - 1) in meals for s in route)
    }
    return min(sums or costs, key=(sums or costs).__getitem__)


def _even_routes(task: TripTask) -> list[Route]:
    """The routes with about as many nights in each city, cities in the order of the request."""
    nights, more = divmod(task.days - 1, task.visits)
    even = tuple(nights + (number < more) for number in range(task.visits))
    order = task.cities.index
    return [
        route
        for route in Solver(task).routes()
        if tuple(stop.nights for stop in route) == even
        and sorted(route, key=lambda stop: order(stop.city)) == list(route)
    ]


def _route_costs(task: TripTask) -> Costs:
    return {route: booking.cost for booking, route in Solver(task).cheapest_bookings()}


def _meal_costs(task: TripTask) -> Meals:
    solver = Solver(task)
    costs = {
        (city, days): solver.cheapest_meal_cost(city, days)
        for city in task.cities
        for days in range(1, task.full_days + 1)
    }
    return {key: cost for key, cost in costs.items() if cost is not None}


def _format_routes(task: TripTask, costs: Costs) -> Iterable[str]:
    for route, cost in costs.items():
        stops = " ".join(f"{task.cities.index(stop.city) + 1}x{stop.nights}" for stop in route)
        yield f"{stops} {cost}"


def _format_meals(task: TripTask, meals: Meals) -> Iterable[str]:
    for number, city in enumerate(task.cities, start=1):
        costs = [meals.get((city, days), "-") for days in range(1, task.full_days + 1)]
        if costs:
            yield f"{number}: {' '.join(map(str, costs))}"


def _parse_routes(task: TripTask, message: str) -> Costs:
    """The routes that a message lists and that are routes of the task."""
    costs: dict[Route, int] = {}
    for part in message.split(";"):
        stops = _STOPS.match(part.strip())
        cost = part.strip()[stops.end() :] if stops else ""
        if not stops or not re.fullmatch(r"\d{1,9}", cost):
            continue
        numbers = [(int(a), int(b)) for a, b in _STOP.findall(stops[0])]
        if any(not 1 <= city <= len(task.cities) or nights < 1 for city, nights in numbers):
            continue
        route = tuple(RouteStop(task.cities[city - 1], nights) for city, nights in numbers)
        cities = {stop.city for stop in route}
        whole = sum(stop.nights for stop in route) == task.days - 1
        if whole and len(cities) == len(route) == task.visits:
            costs[route] = int(cost)
    return costs


def _parse_meals(task: TripTask, message: str) -> Meals:
    meals: dict[tuple[str, int], int] = {}
    for part in message.split(";"):
        match = _MEALS.fullmatch(part.strip())
        if match and 1 <= int(match[1]) <= len(task.cities):
            for days, cost in enumerate(match[2].split(), start=1):
                if cost != "-":
                    meals[task.cities[int(match[1]) - 1], days] = int(cost)
    return meals


def _join_within_limit(parts: Iterable[str], limit: int) -> str:
    """The parts that fit into a message."""
    message = ""
    for part in parts:
        longer = f"{message}; {part}" if message else part
        if len(longer) > limit:
            break
        message = longer
    return message or NOTHING_TO_SAY[:limit]


def _repeat_dinner(lines: Sequence[str]) -> str:
    """A restaurant that another day has for dinner."""
    dinners = re.findall(r"dinner: ([^;]*)", "\n".join(lines))
    return next((dinner for dinner in dinners if dinner != "-"), "-")
