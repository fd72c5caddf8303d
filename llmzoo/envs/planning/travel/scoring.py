"""The reward components of a plan. Pure functions.

An agent's own components are the constraints that it can keep by itself. Except for
form, they count only if its half is complete and names nothing that is not in its tables, since an empty half breaks
no other rule.

* form: the half can be read. tables: all that it names is in the tables. complete: nothing is missing.
* of the booker: route, city, modes, nights, rule, room, transport. Of the guide: restaurants, sights,
  cuisine.

The team's components need both halves:

* together: the share of days on which the guide's meals and sights suit the booker's cities.
* budget: the plan stays within it, and ``together`` is full.
* plan: all constraints hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llmzoo.envs.planning.travel import judge
from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.tasks import TripTask

FORM = TABLES = COMPLETE = 0.02
OWN_BOOKER = {"route": 0.04, "city": 0.04, "modes": 0.03, "nights": 0.04} | {
    "rule": 0.03,
    "room": 0.03,
    "transport": 0.03,
}
OWN_GUIDE = {"restaurants": 0.06, "sights": 0.06, "cuisine": 0.12}
TOGETHER, BUDGET, PLAN = 0.1, 0.2, 0.7

BOOKER, GUIDE = "booker", "guide"
OWN = {BOOKER: OWN_BOOKER, GUIDE: OWN_GUIDE}


def check_own_half(half: str, task: TripTask, plan: Sequence[Day]) -> dict[str, bool]:
    """For each constraint that an agent can keep by itself, whether its half keeps it."""
    if half == GUIDE:
        return {
            "tables": judge.has_listed_visits(task, plan),
            "complete": judge.has_complete_visits(task, plan),
            **{name: holds(task, plan) for name, holds in judge.GUIDE_CONSTRAINTS.items()},
        }
    return {
        "tables": judge.has_listed_bookings(task, plan),
        "complete": judge.has_complete_booking(task, plan),
        "city": judge.has_bookings_in_city(task, plan),
        **{name: holds(task, plan) for name, holds in judge.BOOKER_CONSTRAINTS.items()},
    }


def own_reward_components(half: str, verdicts: Mapping[str, bool] | None) -> dict[str, float]:
    """The parts of a half; ``verdicts``: None if it cannot be read."""
    worth = OWN[half]
    if verdicts is None:
        return dict.fromkeys(("form", "tables", "complete", *worth), 0.0)
    sound = verdicts["tables"] and verdicts["complete"]
    return {
        "form": FORM,
        "tables": TABLES * sound,
        "complete": COMPLETE * sound,
        **{name: value * (sound and verdicts[name]) for name, value in worth.items()},
    }


def alone_reward_components(
    booker: Mapping[str, float], guide: Mapping[str, float]
) -> dict[str, float]:
    """The components of an agent that plans alone: the mean of those of both halves."""
    names = dict.fromkeys([*booker, *guide])
    return {name: (booker.get(name, 0.0) + guide.get(name, 0.0)) / 2 for name in names}


def team_reward_components(task: TripTask, plan: Sequence[Day] | None) -> dict[str, float]:
    """The team's parts for a plan; None: a half cannot be read, or is not sound."""
    if plan is None:
        return {"together": 0.0, "budget": 0.0, "plan": 0.0}
    share = sum(judge.fits_cities(task, day) for day in plan) / len(plan)
    return {
        "together": TOGETHER * share,
        "budget": BUDGET * (share == 1 and judge.total_cost(task, plan) <= task.budget),
        "plan": PLAN * all(judge.check_constraints(task, plan).values()),
    }


def explain_error(verdicts: Mapping[str, bool]) -> str:
    """The first constraint of its own that a half breaks, in words; "" for none."""
    for name, holds in verdicts.items():
        if not holds:
            return _WORDS[name]
    return ""


_WORDS = {
    "tables": "something is not in the tables",
    "complete": "something is missing",
    "city": "transport or a stay is not in the city of its day",
    "route": "the trip is not a round trip with each city once and a night in each",
    "modes": "the first day has no transport, or self-driving goes along with other transport",
    "nights": "a stay asks for more nights",
    "rule": "a stay forbids what it must allow",
    "room": "a room is not of the kind that was asked for",
    "transport": "a kind of transport was not wanted",
    "restaurants": "a restaurant is named twice",
    "sights": "a sight is named twice",
    "cuisine": "a cuisine is missing",
}
