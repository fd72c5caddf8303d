"""The prompts. All agents read the request and the messages, and each the tables of its own half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llmzoo.envs.planning.message_env import PlanningView
from llmzoo.envs.planning.travel.plans import BOOKER_FIELDS, GUIDE_FIELDS
from llmzoo.envs.planning.travel.scoring import BOOKER, GUIDE
from llmzoo.envs.planning.travel.tasks import (
    CAR_SEATS,
    FLIGHT,
    SELF_DRIVING,
    TAXI,
    Restaurant,
    Stay,
    Transport,
    TripTask,
)
from llmzoo.envs.text import replace_surrogates

_EXAMPLE = {
    "city": ("CITY -> CITY", "CITY"),
    "transport": ("flight NUMBER", "-"),
    "stay": ("NAME", "NAME"),
    "breakfast": ("-", "NAME"),
    "lunch": ("-", "NAME"),
    "dinner": ("NAME", "NAME"),
    "sights": ("-", "NAME | NAME"),
}
_WORK = {
    BOOKER: ("book transport and places to stay", "books transport and places to stay"),
    GUIDE: ("choose meals and sights", "chooses meals and sights"),
}


class TravelView(PlanningView[TripTask]):
    """What an agent reads of a trip."""

    @property
    def halves(self) -> tuple[str, ...]:
        """Whose tables it reads and whose half it writes."""
        if len(self.agents) == 1:
            return BOOKER, GUIDE
        return (half_for_agent(self.agent),)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of its lines."""
        return fields_for_halves(self.halves)


def half_for_agent(agent: str) -> str:
    return agent.partition("_")[0]


def fields_for_halves(halves: Sequence[str]) -> tuple[str, ...]:
    return (
        *(BOOKER_FIELDS if BOOKER in halves else ()),
        *(GUIDE_FIELDS if GUIDE in halves else ()),
    )


def full(view: TravelView) -> str:
    """The prompt in sentences."""
    lines = [_role_lines(view), "", _request_lines(view.task), "", *_RULES, ""]
    lines += tables(view.task, view.halves)
    lines += [
        *view.message_lines(),
        *view.status_lines(),
        *_answer_form_lines(view),
        "",
        "Your answer:",
    ]
    return replace_surrogates("\n".join(lines))


def terse(view: TravelView) -> str:
    """The same in few words."""
    task = view.task
    turn = f" {view.number}/{view.rounds + 1}" if len(view.agents) > 1 else ""
    wishes = [f"stays allow {task.rule}" * bool(task.rule), task.room, task.transport]
    lines = [
        f"travel {view.agent}{turn}",
        f"{task.people} people {task.days} days from {task.origin} to {task.visits} of "
        f"{', '.join(task.cities)}; budget {task.budget}",
        "; ".join(filter(None, [*wishes, *task.cuisines])) or "no wishes",
    ]
    lines += brief_tables(task, view.halves)
    lines += view.terse_message_lines()
    lines += [f"not delivered {view.delivery_error}"] if view.delivery_error else []
    lines += [
        f"message up to {view.limit}" if view.is_message_round else _example_line(view.fields, 0, 1)
    ]
    return replace_surrogates("\n".join([*lines, ""]))


def tables(task: TripTask, halves: Sequence[str]) -> list[str]:
    """The tables of the halves, in words."""
    lines = []
    if BOOKER in halves:
        lines += ["Transport (the price of a flight is per person, all other prices are per car):"]
        for (start, end), ways in _transports_by_leg(task).items():
            lines += [f"{start} -> {end}: {'; '.join(map(_format_transport, ways))}"]
        lines += ["", "Stays (the price is per room and night):"]
        for city in task.cities:
            lines += [f"{city}: {_format_stay(stay)}" for stay in task.stays if stay.city == city]
    if GUIDE in halves:
        lines += [""] * bool(lines) + ["Restaurants (the price of a meal is per person):"]
        for city in task.cities:
            lines += [
                f"{city}: {_format_restaurant(meal)}"
                for meal in task.restaurants
                if meal.city == city
            ]
        lines += ["", "Sights:"]
        for city in task.cities:
            seen = [sight.name for sight in task.sights if sight.city == city]
            lines += [f"{city}: {' | '.join(seen) or 'none'}"]
    return lines


def brief_tables(task: TripTask, halves: Sequence[str]) -> list[str]:
    """The tables in few words."""
    lines = []
    if BOOKER in halves:
        for (start, end), ways in _transports_by_leg(task).items():
            named = [f"{_transport_name(way)} {way.price}" for way in ways]
            lines += [f"{start} -> {end}: {'; '.join(named)}"]
        for stay in task.stays:
            forbids = "".join(f", no {rule}" for rule in stay.forbids)
            lines += [
                f"{stay.city}: {stay.name} {stay.price}, {stay.room}, {stay.people} people, "
                f"{stay.nights}+ nights{forbids}"
            ]
    if GUIDE in halves:
        for meal in task.restaurants:
            lines += [f"{meal.city}: {meal.name} {meal.cost} {', '.join(meal.cuisines)}"]
        for city in task.cities:
            seen = [sight.name for sight in task.sights if sight.city == city]
            lines += [f"{city} sights: {' | '.join(seen)}"]
    return lines


def request_and_tables(task: TripTask) -> str:
    """The request and all tables, for a person."""
    return "\n".join([_request_lines(task), "", *tables(task, (BOOKER, GUIDE))])


def _role_lines(view: TravelView) -> str:
    if len(view.agents) == 1:
        return f"You are {view.agent}. You plan a trip, and see all tables."
    (half,), (partner,) = view.halves, [agent for agent in view.agents if agent != view.agent]
    return (
        f"You are {view.agent}. You plan a trip together with {partner}. You {_WORK[half][0]}, and {partner} "
        f"{_WORK[half_for_agent(partner)][1]}. Each of you sees only the tables for your own half of the plan."
    )


def _request_lines(task: TripTask) -> str:
    cities = ", ".join(f"({n}) {city}" for n, city in enumerate(task.cities, start=1))
    one = task.visits == 1
    chosen = f"{task.visits} {'city' if one else 'cities'}" + f" of {task.region}" * bool(
        task.region
    )
    people = "One person wants" if task.people == 1 else f"{task.people} people want"
    lines = [
        f"The request: {people} to travel for {task.days} days from {task.origin} and back, and to visit "
        f"{chosen}. The cities to choose from: {cities}. The whole trip may cost at most ${task.budget}.",
    ]
    if task.rule:
        lines += [f"Their stays must allow {task.rule}."]
    if task.room:
        lines += [f"Their accommodation must be of this type: {task.room}."]
    if task.cuisines:
        lines += [
            f"They want each of these cuisines for at least one meal: {', '.join(task.cuisines)}."
        ]
    if task.transport:
        lines += [f"They want {task.transport}."]
    return " ".join(lines)


_RULES = (
    "The rules:",
    "- Day 1 begins at the origin and the last day ends there. Each city is visited once, for a night or more.",
    "- A travel day has two cities and transport between them. Every day but the last has a stay in the city "
    "where the day ends. A stay must be booked for at least its minimum number of consecutive nights.",
    "- A trip cannot combine self-driving with flights or taxis.",
    "- A day without travel has three meals and at least one sight, all in its city. On a travel day they may be "
    "left out, or be in either of its cities. No restaurant and no sight is visited twice.",
    f"- A car holds {CAR_SEATS[SELF_DRIVING]} people, a taxi {CAR_SEATS[TAXI]}. If they do not fit "
    "into one car or room, they pay for as many as they need.",
)


def _answer_form_lines(view: TravelView) -> list[str]:
    if view.is_message_round:
        (partner,) = (agent for agent in view.agents if agent != view.agent)
        return [
            f"Write a message to {partner}, of at most {view.limit} characters. {partner} writes one at the same "
            f"time. {partner} knows only what you write. In the last round each of you writes one "
            "half of the plan, and both halves must have the same cities on the same days."
        ]
    what = "the plan" if len(view.agents) == 1 else "your half of the plan"
    return [
        f"Write {what}: one line for each of the {view.task.days} days, with - where there is nothing, in this form:",
        _example_line(view.fields, 0, 1),
        _example_line(view.fields, 1, 2),
    ]


def _example_line(fields: Iterable[str], column: int, day: int) -> str:
    return f"day {day}: " + "; ".join(f"{name}: {_EXAMPLE[name][column]}" for name in fields)


def _transports_by_leg(task: TripTask) -> dict[tuple[str, str], list[Transport]]:
    legs: dict[tuple[str, str], list[Transport]] = {}
    for way in task.transports:
        legs.setdefault((way.origin, way.destination), []).append(way)
    return legs


def _transport_name(way: Transport) -> str:
    day = f" on day {way.day}" if way.day else ""
    return f"{way.mode} {way.number}{day}" if way.mode == FLIGHT else way.mode


def _format_transport(way: Transport) -> str:
    return f"{_transport_name(way)} ${way.price}"


def _format_stay(stay: Stay) -> str:
    nights = "1 night" if stay.nights == 1 else f"{stay.nights} nights"
    people = "1 person" if stay.people == 1 else f"{stay.people} people"
    forbids = "".join(f", no {rule}" for rule in stay.forbids)
    return f"{stay.name}: ${stay.price}, {stay.room}, for {people}, at least {nights}{forbids}"


def _format_restaurant(meal: Restaurant) -> str:
    return f"{meal.name}: ${meal.cost}, {', '.join(meal.cuisines)}"
