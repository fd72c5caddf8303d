"""A small trip with costs that are easy to add up, and a plan of it that passes."""

from __future__ import annotations

from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.tasks import Restaurant, Sight, Stay, Transport, TripTask

TASK = TripTask(
    origin="Aldin",
    region="Norvale",
    cities=("Brome", "Carlow"),
    visits=1,
    days=3,
    people=6,
    budget=450,
    rule="pets",
    room="private room",
    cuisines=("French",),
    transport="no self-driving",
    transports=(
        Transport("flight", "Aldin", "Brome", 10, "F1"),
        Transport("flight", "Brome", "Aldin", 20, "F2"),
        Transport("flight", "Brome", "Aldin", 15, "F4", day=2),
        Transport("flight", "Aldin", "Carlow", 5, "F3"),
        Transport("self-driving", "Aldin", "Brome", 7),
        Transport("self-driving", "Brome", "Aldin", 7),
        Transport("taxi", "Aldin", "Brome", 11),
        Transport("taxi", "Brome", "Aldin", 13),
    ),
    stays=(
        Stay("Inn", "Brome", 30, "private room", ("smoking",), 2, 4),
        Stay("Hut", "Brome", 20, "private room", (), 3, 6),
        Stay("Den", "Brome", 20, "private room", ("smoking", "pets"), 1, 6),
        Stay("Loft", "Brome", 20, "shared room", (), 1, 6),
        Stay("Inn", "Carlow", 10, "private room", (), 1, 6),
        Stay("Barn", "Carlow", 10, "private room", (), 1, 6),
    ),
    restaurants=(
        Restaurant("Oven", "Brome", 5, ("Tea", "French")),
        Restaurant("Bowl", "Brome", 6, ("Indian",)),
        Restaurant("Cup", "Brome", 7, ("Tea",)),
        Restaurant("Dish", "Brome", 8, ("Cafe",)),
        Restaurant("Fig", "Brome", 9, ("Cafe",)),
        Restaurant("Gate", "Brome", 9, ("Cafe",)),
        Restaurant("Palace", "Brome", 50, ("French",)),
        Restaurant("Eel", "Carlow", 4, ("French",)),
        Restaurant("Cup", "Carlow", 3, ("Tea",)),
    ),
    sights=(Sight("Mill", "Brome"), Sight("Tower", "Brome"), Sight("Park", "Carlow")),
)

# flights 6 x (10 + 20), 2 nights x 2 rooms x 30, meals 6 x (5 + 6 + 7): 180 + 120 + 108
COST = 408
PLAN = [
    Day(1, ("Aldin", "Brome"), "flight F1", "Inn"),
    Day(2, ("Brome",), "", "Inn", ("Oven", "Bowl", "Cup"), ("Mill",)),
    Day(3, ("Brome", "Aldin"), "flight F2"),
]
BOOKED = """day 1: city: Aldin -> Brome; transport: flight F1; stay: Inn
day 2: city: Brome; transport: -; stay: Inn
day 3: city: Brome -> Aldin; transport: flight F2; stay: -"""
VISITED = """day 1: breakfast: -; lunch: -; dinner: -; sights: -
day 2: breakfast: Oven; lunch: Bowl; dinner: Cup; sights: Mill
day 3: breakfast: -; lunch: -; dinner: -; sights: -"""


def changed(day: int, **fields: object) -> list[Day]:
    """The plan with other fields on a day."""
    return [d._replace(**fields) if d.number == day else d for d in PLAN]
