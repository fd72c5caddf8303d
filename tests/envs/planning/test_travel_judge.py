"""Each constraint, and what each part of the reward pays, with numbers added up by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from travel_tasks import COST, PLAN, TASK, changed

from llmzoo.envs.planning.travel import judge, scoring
from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.solver import Solver

FREE = replace(TASK, transport="")
HOME = Day(3, ("Brome",), "", "", ("Dish", "Fig", "Gate"), ("Tower",))

ONE_BROKEN = [
    ("tables", TASK, changed(1, meals=("", "", "Ghost"))),
    ("tables", TASK, changed(1, sights=("Ghost",))),
    ("tables", TASK, changed(1, stay="Ghost", number=1)),
    ("tables", TASK, changed(1, transport="flight F99")),
    ("tables", TASK, changed(1, transport="by boat")),
    ("tables", TASK, changed(2, transport="taxi")),  # no taxi within a city
    ("complete", TASK, changed(2, sights=())),
    ("complete", TASK, changed(2, meals=("Oven", "Bowl", ""))),
    ("complete", TASK, changed(3, transport="")),
    ("complete", replace(TASK, visits=2), PLAN),
    ("city", TASK, changed(1, meals=("", "", "Eel"))),
    ("city", TASK, changed(1, sights=("Park",))),
    ("city", TASK, changed(1, transport="flight F3")),
    ("city", TASK, changed(3, transport="flight F4")),  # which leaves on day 2
    ("city", TASK, changed(3, stay="Barn")),
    ("route", TASK, [*PLAN[:2], HOME]),
    ("restaurants", TASK, changed(1, meals=("", "", "oven"))),
    ("sights", TASK, changed(1, sights=("Mill",))),
    ("sights", TASK, changed(2, sights=("Mill", "mill"))),
    ("modes", FREE, changed(1, transport="self-driving")),
    ("modes", FREE, [PLAN[0]._replace(transport="taxi"), PLAN[1], PLAN[2]._replace(transport="self-driving")]),
    ("nights", TASK, [PLAN[0]._replace(stay="Hut"), PLAN[1]._replace(stay="Hut"), PLAN[2]]),
    ("budget", TASK, changed(1, meals=("", "", "Palace"))),
    ("budget", replace(TASK, budget=COST - 1), PLAN),
    ("rule", TASK, [PLAN[0]._replace(stay="Den"), PLAN[1]._replace(stay="Den"), PLAN[2]]),
    ("room", TASK, [PLAN[0]._replace(stay="Loft"), PLAN[1]._replace(stay="Loft"), PLAN[2]]),
    ("cuisine", TASK, changed(2, meals=("Fig", "Bowl", "Cup"))),
    (
        "transport",
        TASK,
        [PLAN[0]._replace(transport="self-driving"), PLAN[1], PLAN[2]._replace(transport="self-driving")],
    ),
]  # fmt: skip


def broken(task, plan):
    return [name for name, holds in judge.check_constraints(task, plan).items() if not holds]


def test_a_plan_that_passes():
    assert broken(TASK, PLAN) == []
    assert len(judge.check_constraints(TASK, PLAN)) == 13
    assert judge.total_cost(TASK, PLAN) == COST
    assert broken(replace(TASK, budget=COST), PLAN) == []


@pytest.mark.parametrize(("name", "task", "plan"), ONE_BROKEN)
def test_a_plan_that_breaks_one_constraint(name, task, plan):
    """Unknown stays break the minimum of nights of the other night too, so that this one is left out."""
    found = broken(task, plan)
    if plan[0].stay == "Ghost":
        found.remove("nights")  # one night of two at the Inn is left
    assert found == [name]


def test_every_constraint_is_broken_above():
    assert {name for name, _, _ in ONE_BROKEN} == set(judge.check_constraints(TASK, PLAN))


@pytest.mark.parametrize(
    "cities",
    [
        [("Aldin", "Brome"), ("Brome", "Carlow"), ("Carlow", "Aldin")],  # passes
        [("Aldin", "Brome"), ("Brome", "Aldin"), ("Aldin", "Brome")],  # ends elsewhere
        [("Brome",), ("Brome",), ("Brome", "Aldin")],  # begins elsewhere
        [("Aldin", "Brome"), ("Carlow",), ("Carlow", "Aldin")],  # no night in Brome
        [("Aldin", "Brome"), ("Carlow", "Brome"), ("Brome", "Aldin")],  # leaves from elsewhere
        [("Aldin",), ("Aldin",), ("Aldin",)],  # stays at home
        [("Aldin", "Elster"), ("Elster",), ("Elster", "Aldin")],  # not asked for
        [("Aldin", "Brome", "Carlow"), ("Carlow",), ("Carlow", "Aldin")],  # three in a day
        [(), ("Brome",), ("Brome", "Aldin")],
    ],
)
def test_routes(cities):
    plan = [Day(number, each) for number, each in enumerate(cities, start=1)]
    assert judge.has_valid_route(TASK, plan) == (cities[1] == ("Brome", "Carlow"))


def test_no_city_is_visited_twice():
    legs = ["Aldin Brome", "Brome Carlow", "Carlow Brome", "Brome Aldin"]
    plan = [Day(number, tuple(leg.split())) for number, leg in enumerate(legs, start=1)]
    assert not judge.has_valid_route(TASK, plan)
    assert judge.has_valid_route(TASK, [plan[0], plan[1], Day(3, ("Carlow", "Aldin"))])


def test_costs():
    """Six people: 2 cars for 5, 2 taxis for 4, 2 rooms for 4; a flight and a meal for each."""
    by_car = [
        PLAN[0]._replace(transport="self-driving"),
        PLAN[1],
        PLAN[2]._replace(transport="taxi"),
    ]
    assert judge.total_cost(TASK, by_car) == 2 * 7 + 2 * 13 + 120 + 108
    few = replace(TASK, people=4)
    assert judge.total_cost(few, by_car) == 7 + 13 + 2 * 30 + 4 * 18
    assert judge.total_cost(replace(TASK, people=5), by_car) == 7 + 2 * 13 + 2 * 60 + 5 * 18
    unknown = [Day(n, ("Aldin",), "flight F99", "Ghost", ("?", "", ""), ("?",)) for n in (1, 2, 3)]
    assert judge.total_cost(TASK, unknown) == 0


def test_names():
    """The city of the day decides between places of the same name, or the city that is named."""
    assert TASK.stay("INN ", ("Aldin", "Carlow")).city == "Carlow"
    assert TASK.find_restaurant("cup", ("Brome",)).cost == 7
    assert TASK.find_restaurant("Cup, Carlow", ("Brome",)).cost == 3
    assert TASK.find_restaurant("Cup", ("Carlow", "Brome")).city == "Brome"
    assert TASK.find_restaurant("Cup, Elster", ("Brome",)) is None
    assert TASK.find_restaurant("Cu", ("Brome",)) is None


def test_a_wish_for_shared_rooms_and_others():
    for wish, kinds in {
        "shared room": ["shared room"],
        "not shared room": ["private room", "entire home", "hotel room"],
        "private room": ["private room"],
        "entire room": ["entire home"],
    }.items():
        task = replace(TASK, room=wish)
        rooms = ["shared room", "private room", "entire home"] + ["hotel room"] * ("not" in wish)
        assert [k for k in rooms if task.suits_room(TASK.stays[0]._replace(room=k))] == kinds


def test_parties_count_as_a_rule():
    """TravelPlanner's own program misspells them, and never fails a plan for them."""
    inn = TASK.stays[0]._replace(forbids=("parties",))
    task = replace(TASK, rule="parties", stays=(inn,))
    assert broken(task, PLAN) == ["rule"]


def test_the_parts_of_an_agent():
    for half, own in scoring.OWN.items():
        parts = scoring.own_reward_components(half, scoring.check_own_half(half, TASK, PLAN))
        assert parts == pytest.approx({"form": 0.02, "tables": 0.02, "complete": 0.02, **own})
        assert sum(parts.values()) == pytest.approx(0.3)
        assert sum(scoring.own_reward_components(half, None).values()) == 0


def test_an_incomplete_half_is_paid_for_its_form_only():
    for half, plan in (
        ("booker", [Day(n) for n in (1, 2, 3)]),
        ("booker", changed(1, transport="flight F99")),
        ("guide", [Day(n) for n in (1, 2, 3)]),
        ("guide", changed(2, sights=("Ghost",))),
    ):
        parts = scoring.own_reward_components(half, scoring.check_own_half(half, TASK, plan))
        assert {name: value for name, value in parts.items() if value} == {"form": 0.02}


def test_the_guide_need_not_know_the_days_of_travel_for_its_own_parts():
    """Meals of the full day on another day: complete by itself, and no day of the booker's is kept."""
    meals = ("Oven", "Bowl", "Cup")
    idle = PLAN[1]._replace(meals=("", "", ""), sights=())
    late = [PLAN[0], idle, PLAN[2]._replace(meals=meals, sights=("Mill",))]
    verdicts = scoring.check_own_half("guide", TASK, late)
    assert all(verdicts.values())
    assert scoring.team_reward_components(TASK, late) == pytest.approx(
        {"together": 0.2 / 3, "budget": 0.0, "plan": 0.0}
    )


def test_the_parts_of_the_team():
    nothing = {"together": 0.0, "budget": 0.0, "plan": 0.0}
    assert scoring.team_reward_components(TASK, None) == nothing
    assert scoring.team_reward_components(TASK, PLAN) == pytest.approx(
        {"together": 0.1, "budget": 0.2, "plan": 0.7}
    )
    dear = changed(1, meals=("", "", "Palace"))
    assert scoring.team_reward_components(TASK, dear) == pytest.approx({**nothing, "together": 0.1})
    # the wrong room: within the budget, and no success
    loft = [PLAN[0]._replace(stay="Loft"), PLAN[1]._replace(stay="Loft"), PLAN[2]]
    assert scoring.team_reward_components(TASK, loft) == pytest.approx(
        {"together": 0.1, "budget": 0.2, "plan": 0.0}
    )
    elsewhere = changed(2, meals=("Eel", "Bowl", "Cup"))
    assert scoring.team_reward_components(TASK, elsewhere) == pytest.approx(
        {**nothing, "together": 0.2 / 3}
    )


def test_an_agent_alone_has_half_of_each_half():
    halves = [
        scoring.own_reward_components(h, scoring.check_own_half(h, TASK, PLAN)) for h in scoring.OWN
    ]
    alone = scoring.alone_reward_components(*halves)
    assert sum(alone.values()) == pytest.approx(0.3)
    assert alone["form"] == pytest.approx(0.02)
    assert alone["cuisine"] == pytest.approx(0.06)


def test_the_cheapest_plan():
    """By hand: Brome with flights (180; taxis cost 2 x 24 and are cheaper), the Inn (120), and French tea."""
    cost, route = Solver(TASK).best()
    assert [(stop.city, stop.nights) for stop in route] == [("Brome", 2)]
    assert cost == 2 * 24 + 120 + 108
    assert Solver(replace(TASK, room="", rule="")).best()[0] == 48 + 2 * 20 + 108
    # by car both ways: 2 x 14
    assert Solver(FREE).best()[0] == 28 + 120 + 108
    # the cheapest three serve no Indian food without the Bowl; with the wish for a cuisine of the Palace alone
    palace = TASK.restaurants[6]._replace(cuisines=("Thai",))
    places = (*TASK.restaurants[:6], palace, *TASK.restaurants[7:])
    thai = replace(TASK, cuisines=("Thai",), restaurants=places)
    assert Solver(thai).best()[0] == 48 + 120 + 6 * (5 + 6 + 50)
    assert Solver(replace(TASK, cuisines=("Thai",))).best() is None


@pytest.mark.slow
def test_the_cheapest_of_all_plans_is_found():
    """Against all choices of stays, transport and meals of the small trip, judged one by one."""
    best = None
    meals = [r.name for r in TASK.restaurants if r.city == "Brome"]
    for there in ("flight F1", "taxi", "self-driving"):
        for back in ("flight F2", "flight F4", "taxi", "self-driving"):
            for stay in ("Inn", "Hut", "Den", "Loft"):
                for a in meals:
                    for b in meals:
                        for c in meals:
                            plan = [
                                Day(1, ("Aldin", "Brome"), there, stay),
                                Day(2, ("Brome",), "", stay, (a, b, c), ("Mill",)),
                                Day(3, ("Brome", "Aldin"), back),
                            ]
                            cost = judge.total_cost(TASK, plan)
                            if (best is None or cost < best) and not broken(TASK, plan):
                                best = cost
    assert best == Solver(TASK).best()[0] == 276
