"""Writes the sample of travel_v0: generated trips as records of TravelPlanner's form.

    python scripts/samples/travel_records.py

As in TravelPlanner, the tables are those of the cities of one route, and flights leave on its days of travel.
``tests/envs/planning/test_travel_planner.py`` holds the file against this.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from llmzoo.envs.planning.travel import generator
from llmzoo.envs.planning.travel.solver import Route, Solver
from llmzoo.envs.planning.travel.tasks import FLIGHT, Stay, TripTask

FILE = Path(__file__).parents[2] / "llmzoo/envs/planning/travel/sample.jsonl"
PER_LENGTH = 8  # records of 3, 5 and 7 days each
LEVELS = ("easy", "medium", "hard")
ROOMS = {
    "shared room": "Shared room",
    "private room": "Private room",
    "entire home": "Entire home/apt",
}
STAYS = (
    *("NAME", " price", "room type", "house_rules", " minimum nights", " maximum occupancy"),
    *(" review rate number", "city"),
)
MODES = {"self-driving": "Self-driving", "taxi": "Taxi"}

Table = Sequence[Sequence[object]]


def records() -> list[dict[str, object]]:
    rng = random.Random("the sample of travel_v0")
    made = []
    for visits in (1, 2, 3):
        for _ in range(PER_LENGTH):
            wishes = rng.choice((0, 1, 3))
            task = generator.sample_task(rng, visits=visits, candidates=visits + 1, wishes=wishes)
            best = Solver(task).best()
            assert best is not None
            made.append(record(len(made), task, best[1], LEVELS[min(wishes, 2)], rng))
    return made


def record(
    number: int, task: TripTask, route: Route, level: str, rng: random.Random
) -> dict[str, object]:
    first = date(2022, 3, 1) + timedelta(days=rng.randrange(20))
    dates = [(first + timedelta(days=n)).isoformat() for n in range(task.days)]
    budget = round(task.budget * rng.uniform(1.0, 1.1) + 5, -1)
    where = route[0].city if task.visits == 1 else f"{task.visits} cities in {task.region}"
    entries = [entry for stop in route for entry in of_city(task, stop.city, rng)]
    day = 0
    cities = [task.origin, *(stop.city for stop in route), task.origin]
    for start, end, nights in zip(
        cities, cities[1:], [*(s.nights for s in route), 0], strict=False
    ):
        entries += of_leg(task, start, end, dates[day])
        day += nights
    return {
        "id": f"llmzoo_travel_{number}",
        "org": task.origin,
        "dest": route[0].city if task.visits == 1 else task.region,
        "days": task.days,
        "visiting_city_number": task.visits,
        "date": repr(dates),
        "people_number": task.people,
        "local_constraint": repr(
            {
                "house rule": task.rule or None,
                "cuisine": list(task.cuisines) or None,
                "room type": task.room or None,
                "transportation": task.transport or None,
            }
        ),
        "budget": int(budget),
        "query": f"Plan a trip of {task.days} days from {task.origin} to {where}, from {dates[0]} on, for "
        f"{task.people} people and at most ${int(budget)}.",
        "level": level,
        "reference_information": repr(
            [{"Description": title, "Content": content} for title, content in entries]
        ),
    }


def of_city(task: TripTask, city: str, rng: random.Random) -> list[tuple[str, str]]:
    sights = [
        (
            s.name,
            f"{rng.uniform(30, 45):.6f}",
            f"-{rng.uniform(80, 120):.6f}",
            f"{n} Main St, {city}",
        )
        for n, s in enumerate(task.sights, start=1)
        if s.city == city
    ]
    meals = [
        (m.name, m.cost, ", ".join(m.cuisines), rng.randint(20, 49) / 10, city)
        for m in task.restaurants
        if m.city == city
    ]
    stays = [stay for stay in task.stays if stay.city == city]
    return [
        (
            f"Attractions in {city}",
            table(
                ["Name", " Latitude", " Longitude", "Address", "Phone", "Website", "City"],
                [(*sight, "Unknown", "Unknown", city) for sight in sights],
            ),
        ),
        (
            f"Restaurants in {city}",
            numbered(
                ["Name", "Average Cost", "Cuisines", "Aggregate Rating", "City"],
                meals,
                sorted(rng.sample(range(1, 10_000), len(meals))),
            ),
        ),
        (
            f"Accommodations in {city}",
            table(
                STAYS,
                [(*row(stay), f"{rng.randint(1, 5)}.0", city) for stay in stays],
            ),
        ),
    ]


def row(stay: Stay) -> tuple[object, ...]:
    rules = " & ".join(f"No {rule}" for rule in stay.forbids)
    price, nights = f"{stay.price}.0", f"{stay.nights}.0"
    return stay.name, price, ROOMS[stay.room], rules or "NaN", nights, stay.people


def of_leg(task: TripTask, start: str, end: str, day: str) -> list[tuple[str, str]]:
    flights = [
        (way.number, way.price, "09:30", "11:00", "1 hours 30 minutes", day, start, end, "300.0")
        for way in task.ways(start, end)
        if way.mode == FLIGHT
    ]
    head = ["Flight Number", " Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate"]
    head += ["OriginCityName", "DestCityName", " Distance"]
    entries = [(f"Flight from {start} to {end} on {day}", table(head, flights))]
    for mode, title in MODES.items():
        cost = [way.price for way in task.ways(start, end) if way.mode == mode]
        said = "No valid information."
        if cost:
            said = f"{mode}, from {start} to {end}, duration: 3 hours 5 mins, distance: 300 km, cost: {cost[0]}"
        entries.append((f"{title} from {start} to {end}", said))
    return entries


def table(head: Sequence[str], rows: Table, gap: str = " ") -> str:
    """As pandas writes it: columns are aligned to the right."""
    texts = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in texts]
    return "\n".join(gap.join(line) for line in lines)


def numbered(head: Sequence[str], rows: Table, numbers: Sequence[int]) -> str:
    """A table with the numbers of its rows."""
    width = max(len(str(number)) for number in numbers)
    first, *others = table(head, rows, "  ").split("\n")
    lines = [f"{number:<{width}}  {line}" for number, line in zip(numbers, others, strict=True)]
    return "\n".join([" " * (width + 2) + first, *lines])


if __name__ == "__main__":
    FILE.write_text("".join(json.dumps(one) + "\n" for one in records()), encoding="utf-8")
