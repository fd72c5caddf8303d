"""Reading orders: what is one, what is refused, and what an answer without any is."""

from __future__ import annotations

import contextlib
import time

import pytest

from llmzoo.envs.building import orders
from llmzoo.envs.building.blocks import AIR, STONE, WOOD, Box, FillCommand, command_readers
from llmzoo.envs.text import MalformedError

BOX = Box(5, 4, 3)
READERS = command_readers(BOX, (WOOD, STONE))


def read(text, most=8, message_chars=20):
    return orders.parse_orders(text, READERS, most=most, message_chars=message_chars)


def block(x, y, z, material):
    return FillCommand((x, y, z), (x, y, z), material)


@pytest.mark.parametrize(
    "line",
    [
        "setblock 1 2 0 stone",
        "/setblock 1 2 0 stone",
        "  - setblock 1 2 0 stone",
        "3. setblock 1 2 0 stone",
        "2) /SETBLOCK 1 2 0 Stone",
        "`setblock 1 2 0 stone`",
        "setblock\t1  2 0 stone ",
    ],
)
def test_forms_of_one_order(line):
    assert read(line).given == ((1, block(1, 2, 0, STONE)),)


def test_corners_in_any_order_name_the_same_cells():
    wanted = FillCommand((0, 1, 0), (4, 2, 2), WOOD)
    for text in ("fill 0 1 0 4 2 2 wood", "fill 4 2 2 0 1 0 wood", "fill 4 1 2 0 2 0 wood"):
        assert read(text).given == ((1, wanted),)


def test_an_order_is_written_as_it_is_read():
    for text in ("setblock 1 2 0 stone", "fill 0 1 0 4 2 2 air"):
        assert str(read(text).given[0][1]) == text


def test_prose_and_fences_around_orders_do_not_matter():
    text = "I fill the floor, then wait.\n```mc\nsetblock 0 0 0 wood\n```\nThat is all: setblock.\n"
    assert read(text).given == ((3, block(0, 0, 0, WOOD)),)
    assert read(text).refused == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("setblock 5 0 0 wood", "x is from 0 to 4"),
        ("setblock 0 4 0 wood", "y is from 0 to 3"),
        ("setblock 0 0 3 wood", "z is from 0 to 2"),
        ("setblock -1 0 0 wood", "x is from 0 to 4"),
        ("setblock 0 0 0 gold", "a material is air, wood, stone"),
        ("setblock 0 0 0 brick", "a material is air, wood, stone"),
        ("setblock 0 0 0", "setblock takes x y z material"),
        ("setblock 0 0 0 wood please", "setblock takes x y z material"),
        ("setblock 0 0 0 wood # here", "setblock takes x y z material"),
        ("setblock ~1 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock 1.0 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock 1e0 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock +1 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock 0x1 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock 1_0 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock ١ 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock nan 0 0 wood", "a coordinate is a whole number such as 3"),
        ("setblock 99999999999999999999 0 0 wood", "a coordinate is a whole number such as 3"),
        ("fill 0 0 0 9999 9999 9999 wood", "x is from 0 to 4"),
        ("fill 0 0 0 1 1 wood", "fill takes x1 y1 z1 x2 y2 z2 material"),
        ("fill 0 0 0 1 1 1 wood replace", "fill takes x1 y1 z1 x2 y2 z2 material"),
        ("pass the salt", "pass stands alone, not before 'the salt'"),
        ("say", "an empty message"),
        ("say " + "x" * 21, "a message of 21 characters, 20 are allowed"),
    ],
)
def test_refused_as_a_whole_with_its_reason(line, why):
    found = read(f"setblock 0 0 0 wood\n{line}")
    assert found.given == ((1, block(0, 0, 0, WOOD)),)
    assert found.refused == (f"line 2: {why}",)


def test_air_is_for_everybody_and_columns_bound_the_reach():
    west = command_readers(BOX, (WOOD,), range(2))
    found = orders.parse_orders(
        "setblock 1 0 0 air\nsetblock 2 0 0 wood", west, most=9, message_chars=0
    )
    assert found.given == ((1, block(1, 0, 0, AIR)),)
    assert found.refused == ("line 2: you reach x from 0 to 1",)


def test_a_message_is_the_rest_of_its_line_and_there_is_one():
    found = read("say  hello there \nsay again\nsetblock 0 0 0 wood")
    assert (found.message, found.refused) == ("hello there", ("line 2: a second message",))
    with pytest.raises(MalformedError):
        orders.parse_orders("say hello", READERS, most=9, message_chars=0)


def test_more_orders_than_allowed_are_refused():
    found = read("setblock 0 0 0 wood\n" * 10)
    assert len(found.given) == 8
    assert found.refused == ("line 9: more than 8 orders", "line 10: more than 8 orders")


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "settle 0 0 0", "setblock-1", "passing by"])
def test_no_order(text):
    with pytest.raises(
        MalformedError, match="no order in it; a line begins with setblock, fill or pass"
    ):
        read(text)


def test_pass_is_an_answer():
    assert read("pass").given == read("pass").refused == ()


def test_an_answer_that_is_too_long_is_not_read():
    with pytest.raises(MalformedError, match="longer than 20000"):
        read("setblock 0 0 0 wood\n" * 1001)


@pytest.mark.parametrize(
    "unit", ["setblock ", "fill 0 ", "- ", "/", "`", "1. ", "say ", "\n", "pass\n"]
)
def test_time_is_linear(unit, no_collector):
    text = (unit * 20_000)[:20_000]
    started = time.process_time()
    with contextlib.suppress(MalformedError):
        read(text)
    assert time.process_time() - started < 0.2


def test_what_an_agent_is_told():
    assert orders.summarize_orders(read("pass")) == "0 orders carried out"
    assert orders.summarize_orders(read("setblock 0 0 0 wood")) == "1 order carried out"
    four = orders.summarize_orders(read("setblock 0 0 0 wood\n" + "setblock 9 0 0 wood\n" * 4))
    reason = "x is from 0 to 4"
    assert four == (
        f"1 order carried out, 4 refused (line 2: {reason}; line 3: {reason}; line 4: {reason}; 1 more)"
    )
