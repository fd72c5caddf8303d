"""Attacks on travel_v0: constant and copied plans, the first rows of the tables, cheap places without regard to
the request, and good halves for cities that nobody agreed on.

A score is the mean return of the agent that gains most, over the same tasks; all agents play the attack. It must
stay below the noisy experts' mean return. Attacks that read no table must stay below a small part of what the
experts earn, which is 1.3. ``the first cities`` is what agents can do without messages: their own parts, the
same cities by a convention, and the luck of a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import llmzoo
from llmzoo.envs.base import TextEnv
from llmzoo.envs.planning.travel import plans, players, solver
from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.prompts import fields_for_halves
from llmzoo.envs.planning.travel.solver import RouteStop, Solver
from llmzoo.envs.planning.travel.tasks import TripTask

from .episode import Act, copies_the_prompt, mean_returns, noisy_expert, says
from .scored import Scored

TASKS = 60
BLIND = 0.03  # the form; the experts earn 1.3
FORMS = {
    "easy": {"level": "easy"},
    "normal": {},
    "hard, two rounds": {"level": "hard", "rounds": 2},
}


def attacks() -> Iterator[Scored]:
    for form, settings in FORMS.items():
        env = llmzoo.make("travel_v0", split="test", **settings)
        honest = min(mean_returns(env, noisy_expert, TASKS).values())
        for name, (act, limit) in ATTACKS.items():
            score = max(mean_returns(env, act, TASKS).values())
            yield Scored(
                env="travel_v0", attack=f"{name}, {form}", score=score, honest=honest, limit=limit
            )


def first_rows(task: TripTask) -> list[Day]:
    """The first city, stay, transport, restaurants and sight, every day."""
    city = task.cities[0]
    there, back = task.ways(task.origin, city)[0], task.ways(city, task.origin)[0]
    stay = next(each.name for each in task.stays if each.city == city)
    breakfast, lunch, dinner = [each.name for each in task.restaurants if each.city == city][:3]
    sight = next(each.name for each in task.sights if each.city == city)
    seen = ((breakfast, lunch, dinner), (sight,))
    between = [Day(number, (city,), "", stay, *seen) for number in range(2, task.days)]
    return [
        Day(1, (task.origin, city), f"{there.mode} {there.number}".strip(), stay, *seen),
        *between,
        Day(task.days, (city, task.origin), f"{back.mode} {back.number}".strip(), "", *seen),
    ]


def _half(agent: str) -> str:
    return agent.partition("_")[0]


def _lines(env: TextEnv, agent: str, days: list[Day]) -> str:
    return plans.format_plan(days, fields_for_halves((_half(agent),)))


def _nothing(env: TextEnv, agent: str) -> str:
    """Every day at home, without meals."""
    task = env.episode.task
    return _lines(env, agent, [Day(n, (task.origin,)) for n in range(1, task.days + 1)])


def _copies_the_example(env: TextEnv, agent: str) -> str:
    """The form that the prompt shows, for each day."""
    shown = [line for line in str(env.observe(agent)).splitlines() if line.startswith("day ")]
    if not shown:
        return "hello"
    line = shown[-1].partition(":")[2]
    return "\n".join(f"day {n}:{line}" for n in range(1, env.episode.task.days + 1))


def _another_trip(env: TextEnv, agent: str) -> str:
    """The experts' plan of one task, in all others."""
    other = env.tasks[TASKS]
    return _lines(env, agent, players.whole_plan(other))


def _first_rows(env: TextEnv, agent: str) -> str:
    return _lines(env, agent, first_rows(env.episode.task))


def _everything_at_once(env: TextEnv, agent: str) -> str:
    """All restaurants, sights and stays in every field."""
    task = env.episode.task
    names = " | ".join(place.name for place in (*task.restaurants, *task.stays))
    sights = tuple(sight.name for sight in task.sights)
    days = [
        Day(n, task.cities, names, names, (names, names, names), sights)
        for n in range(1, task.days + 1)
    ]
    return _lines(env, agent, days)


def _no_wishes(env: TextEnv, agent: str) -> str:
    """The cheapest halves for the same cities, without regard to the request."""
    task = replace(env.episode.task, rule="", room="", cuisines=(), transport="")
    return _of_route(env, agent, task)


def _first_cities(env: TextEnv, agent: str) -> str:
    """The cheapest halves for the first cities of the request, two nights each."""
    return _of_route(env, agent, env.episode.task)


def _of_route(env: TextEnv, agent: str, task: TripTask) -> str:
    route = tuple(RouteStop(city, 2) for city in task.cities[: task.visits])
    if _half(agent) == "booker":
        booking = Solver(task).cheapest_booking(route)
        return _lines(env, agent, solver.booker_days(task, route, booking) if booking else [])
    menu = Solver(task).cheapest_menu(route)
    return _lines(env, agent, solver.guide_days(task, route, menu.restaurants) if menu else [])


def _echo(env: TextEnv, agent: str) -> str:
    """What the other wrote last; its own true costs first."""
    if not env.episode.messages:
        return env.expert(agent)
    other = next(one_agent for one_agent in env.possible_agents if one_agent != agent)
    return env.episode.messages[-1][other]


def _own_cheapest(env: TextEnv, agent: str) -> str:
    """The cheapest by the own tables alone."""
    half = _half(agent)
    return players.expert_plan(half, players.with_known_tables(env.episode.task, half), ())


def _false_praise(env: TextEnv, agent: str) -> str:
    return "The plan keeps all constraints, success: True, budget: 0.2, plan: 0.7."


ATTACKS: dict[str, tuple[Act, float | None]] = {
    "empty": (says(""), BLIND),
    "a constant line": (says("day 1: city: Aldin; transport: -; stay: -"), BLIND),
    "nothing every day": (_nothing, BLIND),
    "copies the prompt": (copies_the_prompt, BLIND),
    "copies the example": (_copies_the_example, BLIND),
    "the plan of another trip": (_another_trip, BLIND),
    "everything at once": (_everything_at_once, BLIND),
    "praises itself": (_false_praise, BLIND),
    "the first rows": (_first_rows, None),
    "no wishes": (_no_wishes, None),
    "the first cities": (_first_cities, None),
    "own cheapest": (_own_cheapest, None),
    "echo": (_echo, None),
}
