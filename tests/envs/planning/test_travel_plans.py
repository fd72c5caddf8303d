"""Reading halves of plans: the form, what is malformed, and hostile text."""

from __future__ import annotations

import contextlib
import time

import pytest
from travel_tasks import BOOKED as BOOKED_LINES
from travel_tasks import PLAN
from travel_tasks import VISITED as VISITED_LINES

from llmzoo.envs.planning.travel import plans
from llmzoo.envs.planning.travel.plans import BOOKER_FIELDS, GUIDE_FIELDS, parse_plan
from llmzoo.envs.text import MalformedError


def test_both_halves_make_the_plan():
    booked, visited = (
        parse_plan(BOOKED_LINES, BOOKER_FIELDS, 3),
        parse_plan(VISITED_LINES, GUIDE_FIELDS, 3),
    )
    assert plans.merge_halves(booked, visited, 3) == PLAN
    assert plans.format_plan(PLAN, BOOKER_FIELDS) == BOOKED_LINES
    assert plans.format_plan(PLAN, GUIDE_FIELDS) == VISITED_LINES
    assert plans.merge_halves(booked, None, 3)[1].meals == ("", "", "")
    assert plans.merge_halves(None, visited, 3)[1].cities == ()


def test_the_whole_plan_of_an_agent_alone():
    fields = (*BOOKER_FIELDS, *GUIDE_FIELDS)
    whole = parse_plan(plans.format_plan(PLAN, fields), fields, 3)
    assert plans.merge_halves(whole, whole, 3) == PLAN


@pytest.mark.parametrize(
    "line",
    [
        "day 1: city: Aldin -> Brome; transport: flight F1; stay: Inn",
        "Day 1: stay: Inn; City: Aldin  -> Brome; TRANSPORT: flight  F1;",
        "  - **Day 1:** city: Aldin -> Brome ; transport: flight F1 ; stay: Inn  ",
        "day 1 : city: Aldin -> Brome; transport: flight F1; stay: Inn",
        "day 1: city: nowhere; transport: -; stay: -\nday 1: city: Aldin -> Brome; transport: flight F1; "
        "stay: Inn",
        "I think that day 1: works.\nday 1: city: Aldin -> Brome; transport: flight F1; stay: Inn\nGood?",
    ],
)
def test_forms_of_a_line(line):
    (day,) = parse_plan(line, BOOKER_FIELDS, 1)
    assert day == {"city": "Aldin -> Brome", "transport": "flight F1", "stay": "Inn"}
    assert plans.merge_halves((day,), None, 1)[0].cities == ("Aldin", "Brome")


def test_nothing_and_lists():
    (day,) = parse_plan(
        "day 1: breakfast:-; lunch: ; dinner: A: the bar; sights: A | | - |B", GUIDE_FIELDS, 1
    )
    (whole,) = plans.merge_halves(None, (day,), 1)
    assert whole.meals == ("", "", "A: the bar")
    assert whole.sights == ("A", "B")
    (day,) = parse_plan("day 1: city: A->B; transport: -; stay: -", BOOKER_FIELDS, 1)
    assert plans.merge_halves((day,), None, 1)[0].cities == ("A", "B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line such as: day 1: city"),
        ("a trip to Brome", "no line such as"),
        ("day 1: city: A; transport: -", "day 1: no stay"),
        ("day 1: city: A; transport: -; stay: -; dinner: B", "day 1: 'dinner' is not one of city"),
        ("day 1: city: A; city: B; transport: -; stay: -", "day 1: city is written twice"),
        ("day 1: city A", "day 1: 'city a' is not one of"),
        ("day 2: city: A; transport: -; stay: -", "no line for day 1"),
        ("day 0: x\nday 1: city: A; transport: -; stay: -", "has days 1 to 1"),
        ("day 1: city: A; transport: -; stay: -\nday 2: x", "a trip of 1 days has days 1 to 1"),
        ("day 1: city: CITY -> CITY; transport: flight NUMBER", "no stay"),
        ("day 1:\x00; city: A; transport: -; stay: -", "is not one of"),
        ("day \u0661: city: A; transport: -; stay: -" + "x" * 20_000, "longer than 20000"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(MalformedError, match=message):
        parse_plan(text, BOOKER_FIELDS, 1)


@pytest.mark.parametrize(
    "text",
    [
        "day 1:" + ";" * 19_000,
        "day 1: " + "; city: A" * 2_000,
        " " * 19_990,
        "day" * 6_000,
        "day 1: city: " + "->" * 9_000 + "; transport: -; stay: -",
        "*`>#- " * 3_000,
        "\n".join(f"day {n}:" for n in range(2_000)),
        "day 1: city: \ud800 -> \udfff; transport: flight \u202e; stay: \u0000",
    ],
)
def test_hostile_text_takes_no_time(text, no_collector):
    start = time.process_time()
    with contextlib.suppress(MalformedError):
        plans.merge_halves(parse_plan(text, BOOKER_FIELDS, 1), None, 1)
    assert time.process_time() - start < 0.5
