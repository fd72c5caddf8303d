"""The agent's tools in airline_v0, against values worked out from tau2-bench's published source (tools.py)."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import airline_records as published
import pytest
from airline_records import ANN, BOB, CARD, CIA, GIFT, PAPER

from llmzoo.envs.tools.airline.agent_tools import READ_TOOLS, TOOLS, WRITE_TOOLS
from llmzoo.envs.tools.airline.database import changed_fields, free_bags, total_paid
from llmzoo.envs.tools.airline.records import build_database
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tools import WORLD, describe_tool, run_call
from llmzoo.envs.tools.toolbox import ToolError

ASSISTANT = TOOLS["assistant"]
DATA = build_database(published.TABLES)
FIRST = {"flight_number": "HAT001", "date": "2024-05-16"}
SECOND = {"flight_number": "HAT002", "date": "2024-05-16"}


def use(data, name, **arguments):
    """The records after a call, and its result."""
    after, result = run_call(ASSISTANT, data, ToolCall(name, arguments))
    return after, json.loads(result) if result[:1] in "[{" else result


def book(data=DATA, **changed):
    arguments = {
        **{"user_id": "ann_bell_1", "origin": "PHL", "destination": "PHX"},
        **{"flight_type": "one_way", "cabin": "economy", "flights": [FIRST, SECOND]},
        "passengers": [ANN, CIA],
        "payment_methods": [
            {"payment_id": PAPER, "amount": 200},
            {"payment_id": GIFT, "amount": 300},
            {"payment_id": CARD, "amount": 186},
        ],
        **{"total_baggages": 5, "nonfree_baggages": 1, "insurance": "yes"},
        **changed,
    }
    return use(data, "book_reservation", **arguments)


def test_a_booking():
    """(122 + 166) x 2 + 30 x 2 + 50 = 686 = 200 + 300 + 186."""
    after, result = book()
    assert result == after.reservations["HATHAT"]
    assert [leg["price"] for leg in result["flights"]] == [122, 166]
    assert result["flights"][1] == {
        **{"flight_number": "HAT002", "origin": "LGA", "destination": "PHX"},
        **{"date": "2024-05-16", "price": 166},
    }
    assert result["passengers"] == [ANN, CIA]
    assert [payment["amount"] for payment in result["payment_history"]] == [200, 300, 186]
    assert result["created_at"] == "2024-05-15T15:00:00"
    assert (result["status"], result["insurance"], result["cabin"]) == (None, "yes", "economy")
    assert after.users["ann_bell_1"]["reservations"] == ["AAA111", "BBB222", "HATHAT"]
    methods = after.users["ann_bell_1"]["payment_methods"]
    assert set(methods) == {CARD, GIFT}  # what was left on the certificate is lost
    assert methods[GIFT]["amount"] == 0
    seats = [
        after.flights[n]["dates"]["2024-05-16"]["available_seats"] for n in ("HAT001", "HAT002")
    ]
    assert seats == [
        {"basic_economy": 16, "economy": 8, "business": 13},
        {"basic_economy": 17, "economy": 11, "business": 5},
    ]
    assert (
        after.flights["HAT001"]["dates"]["2024-05-17"]
        is DATA.flights["HAT001"]["dates"]["2024-05-17"]
    )
    assert build_database(published.TABLES) == DATA


def test_at_most_three_bookings():
    data = DATA
    one = {"flights": [FIRST], "passengers": [ANN], "insurance": "no", "nonfree_baggages": 0}
    for id in ("HATHAT", "HATHAU", "HATHAV"):
        data, result = book(data, **one, payment_methods=[{"payment_id": CARD, "amount": 122}])
        assert result["reservation_id"] == id
    with pytest.raises(ToolError, match="too many reservations"):
        book(data, **one, payment_methods=[{"payment_id": CARD, "amount": 122}])


def test_what_is_not_told_to_the_tool_is_left_out_and_names_find_their_records():
    flights = [{**FIRST, "price": 1, "flight_number": "hat001"}]
    after, result = book(
        **{"user_id": "Ann_Béll_1", "flights": flights, "passengers": [{**ANN, "seat": "1A"}]},
        **{"payment_methods": [{"payment_id": CARD, "amount": 122.0}]},
        **{"insurance": "no", "nonfree_baggages": 0},
    )
    assert result["user_id"] == "ann_bell_1"
    assert result["flights"][0]["flight_number"] == "HAT001"
    assert result["passengers"] == [ANN]
    assert "HATHAT" in after.users["ann_bell_1"]["reservations"]


BAD_BOOKINGS = [
    ({"user_id": "nobody"}, "no user has the id 'nobody'"),
    ({"cabin": "first"}, "cabin must be one of"),
    ({"insurance": "maybe"}, "insurance must be one of"),
    ({"flight_type": "multi"}, "flight_type must be one of"),
    ({"flights": [{**FIRST, "flight_number": "HAT9"}]}, "no flight has the id"),
    ({"flights": [{**FIRST, "date": "2024-06-01"}]}, "does not fly on"),
    ({"flights": [{**FIRST, "date": "2024-05-14"}]}, "cannot be booked: it is cancelled"),
    ({"flights": [{**FIRST, "date": "2024-05-15"}]}, "cannot be booked: it is landed"),
    ({"flights": [{"flight_number": "HAT001"}]}, "needs flight_number, date as texts"),
    ({"flights": "HAT001"}, "must be list of objects"),
    ({"flights": ["HAT001"]}, "must be list of objects"),
    ({"flights": [{"flight_number": "HAT900", "date": "2024-05-17"}]}, "too few seats in economy"),
    ({"passengers": [{"first_name": "Ann"}]}, "needs first_name, last_name, dob as texts"),
    ({"payment_methods": [{"payment_id": CARD, "amount": 685}]}, "add up to 685, but the price is 686"),
    ({"payment_methods": [{"payment_id": GIFT, "amount": 686}]}, "too little left on gift_card_22"),
    ({"payment_methods": [{"payment_id": PAPER, "amount": 251}]}, "too little left on certificate_33"),
    ({"payment_methods": [{"payment_id": "cash", "amount": 686}]}, "no payment method 'cash'"),
    ({"payment_methods": [{"payment_id": CARD, "amount": 685.5}]}, "a whole number of dollars"),
    ({"payment_methods": [{"payment_id": CARD, "amount": float("nan")}]}, "a whole number of dollars"),
    ({"payment_methods": [{"payment_id": CARD, "amount": True}]}, "a whole number of dollars"),
    ({"payment_methods": [{"payment_id": CARD}]}, "a whole number of dollars"),
    (
        {"payment_methods": [*[{"payment_id": PAPER, "amount": 200}] * 2, {"payment_id": CARD, "amount": 286}]},
        "can be used once only",
    ),
    ({"total_baggages": "5"}, "must be whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), BAD_BOOKINGS)
def test_a_booking_that_cannot_be_made(changed, message):
    with pytest.raises(ToolError, match=message):
        book(**changed)


def moved(data=DATA, **changed):
    arguments = {
        **{"reservation_id": "AAA111", "cabin": "economy", "payment_id": GIFT},
        "flights": [{"flight_number": "HAT001", "date": "2024-05-17"}],
        **changed,
    }
    return use(data, "update_reservation_flights", **arguments)


def test_another_day_costs_the_difference_and_takes_no_seats():
    """(189 - 100) x 2 = 178 of 300."""
    after, result = moved()
    assert result["flights"][0]["price"] == 189
    assert result["payment_history"][1:] == [{"payment_id": GIFT, "amount": 178}]
    assert after.users["ann_bell_1"]["payment_methods"][GIFT]["amount"] == 122
    assert after.flights is DATA.flights


def test_a_flight_that_stays_keeps_its_price_in_its_cabin_only():
    same = {"flights": [FIRST, SECOND], "payment_id": CARD}
    _, result = moved(**same)  # 100 stays though it is 122 today
    assert [leg["price"] for leg in result["flights"]] == [100, 166]
    assert result["payment_history"][-1]["amount"] == 2 * 166
    _, result = moved(**same, cabin="business")
    assert [leg["price"] for leg in result["flights"]] == [471, 218]
    assert result["payment_history"][-1]["amount"] == 2 * (471 + 218 - 100)
    assert result["cabin"] == "business"


def test_a_lower_price_is_paid_back_and_none_leaves_no_payment():
    after, result = moved(flights=[FIRST], cabin="basic_economy")  # (87 - 100) x 2
    assert result["payment_history"][-1] == {"payment_id": GIFT, "amount": -26}
    assert after.users["ann_bell_1"]["payment_methods"][GIFT]["amount"] == 326
    after, result = moved(flights=[FIRST])
    assert after == DATA


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"payment_id": PAPER}, "a certificate cannot pay"),
        ({"payment_id": "cash"}, "no payment method"),
        ({"cabin": "business"}, "too little left"),  # (498 - 100) x 2 = 796
        ({"flights": [{**FIRST, "date": "2024-05-14"}]}, "it is cancelled"),
        ({"reservation_id": "ZZZ999"}, "no reservation has the id"),
        ({"cabin": "best"}, "cabin must be one of"),
    ],
)
def test_a_change_that_cannot_be_made(changed, message):
    with pytest.raises(ToolError, match=message):
        moved(**changed)


def test_bags():
    given = {"reservation_id": "AAA111", "payment_id": GIFT}
    after, result = use(
        DATA, "update_reservation_baggages", **given, total_baggages=6, nonfree_baggages=2
    )
    assert (result["total_baggages"], result["nonfree_baggages"]) == (6, 2)
    assert result["payment_history"][-1] == {"payment_id": GIFT, "amount": 100}
    fewer, result = use(
        after, "update_reservation_baggages", **given, total_baggages=5, nonfree_baggages=1
    )
    assert result["nonfree_baggages"] == 1
    assert len(result["payment_history"]) == 2  # nothing is paid back
    assert fewer.users["ann_bell_1"]["payment_methods"][GIFT]["amount"] == 200


def test_passengers():
    given = {"reservation_id": "AAA111"}
    _, result = use(DATA, "update_reservation_passengers", **given, passengers=[ANN, CIA])
    assert result["passengers"] == [ANN, CIA]
    for others in ([ANN], [ANN, BOB, CIA], []):
        with pytest.raises(ToolError, match="number of passengers"):
            use(DATA, "update_reservation_passengers", **given, passengers=others)


def test_cancelling_turns_every_payment_back_and_frees_no_seats():
    after, result = use(DATA, "cancel_reservation", reservation_id="aaa111")
    assert result["status"] == "cancelled"
    assert [p["amount"] for p in result["payment_history"]] == [200, -200]
    assert after.flights is DATA.flights
    again, result = use(after, "cancel_reservation", reservation_id="AAA111")
    assert [p["amount"] for p in result["payment_history"]] == [200, -200, -200, 200]
    assert total_paid(again.reservations["AAA111"]) == 0


def test_cancelling_again_and_again_comes_to_an_end():
    """The history doubles each time: 1, 2, 4, ... 256."""
    data, cancel = (
        DATA,
        ToolCall("cancel_reservation", {"reservation_id": "AAA111"}),
    )
    for _ in range(8):
        data, _ = run_call(ASSISTANT, data, cancel)
    assert len(data.reservations["AAA111"]["payment_history"]) == 256
    with pytest.raises(ToolError, match="too many payments"):
        run_call(ASSISTANT, data, cancel)


def test_certificates():
    data = DATA
    for number in (3221322, 3221323, 3221324):
        data, result = use(data, "send_certificate", user_id="ann_bell_1", amount=50)
        assert f"certificate_{number}" in result
    methods = data.users["ann_bell_1"]["payment_methods"]
    assert methods["certificate_3221322"] == {
        **{"source": "certificate", "id": "certificate_3221322", "amount": 50}
    }
    with pytest.raises(ToolError, match="too many certificates"):
        use(data, "send_certificate", user_id="ann_bell_1", amount=50)


def test_searches():
    _, found = use(DATA, "search_direct_flight", origin="PHL", destination="LGA", date="2024-05-16")
    assert [flight["flight_number"] for flight in found] == ["HAT001"]
    assert found[0]["prices"] == {"basic_economy": 87, "economy": 122, "business": 471}
    assert "dates" not in found[0]
    for date in ("2024-05-14", "2024-05-15", "2024-06-01", "soon"):
        assert (
            use(DATA, "search_direct_flight", origin="PHL", destination="LGA", date=date)[1] == []
        )
    _, pairs = use(
        DATA, "search_onestop_flight", origin="PHL", destination="PHX", date="2024-05-16"
    )
    assert [[f["flight_number"] for f in pair] for pair in pairs] == [["HAT001", "HAT002"]]
    # LGA to PHX lands at 1:30 of the next day, on which the next flight leaves at 9:00
    _, pairs = use(
        DATA, "search_onestop_flight", origin="LGA", destination="SEA", date="2024-05-16"
    )
    assert [[f["date"] for f in pair] for pair in pairs] == [["2024-05-16", "2024-05-17"]]
    late = replace(
        DATA,
        flights={
            **DATA.flights,
            "HAT900": {**DATA.flights["HAT900"], "scheduled_departure_time_est": "01:00:00"},
        },
    )
    assert (
        use(late, "search_onestop_flight", origin="LGA", destination="SEA", date="2024-05-16")[1]
        == []
    )


@pytest.mark.parametrize(
    ("flight", "date", "status"),
    [
        ("HAT001", "2024-05-14", "cancelled"),
        ("hat001 ", "2024-05-15", "landed"),
        ("HAT002", "2024-05-15", "delayed"),
        ("HAT002", "2024-05-16", "available"),
    ],
)
def test_the_status_of_a_flight(flight, date, status):
    assert use(DATA, "get_flight_status", flight_number=flight, date=date)[1] == status


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 2", "4.0"), ("10 / 4", "2.5"), ("2 / 3", "0.67"), ("(122 + 166) * 2", "576.0")],
)
def test_arithmetic(expression, value):
    assert use(DATA, "calculate", expression=expression)[1] == value


@pytest.mark.parametrize("expression", ["__import__('os')", "1 / 0", "9**9**9**9", "(" * 900, ""])
def test_what_is_no_arithmetic(expression):
    with pytest.raises(ToolError):
        use(DATA, "calculate", expression=expression)


def test_the_tools_are_those_of_tau2_bench_and_the_customer_has_none():
    assert set(ASSISTANT.tools) == {
        *("book_reservation", "calculate", "cancel_reservation", "get_flight_status"),
        *("get_reservation_details", "get_user_details", "list_all_airports"),
        *("search_direct_flight", "search_onestop_flight", "send_certificate"),
        *("transfer_to_human_agents", "update_reservation_baggages"),
        *("update_reservation_flights", "update_reservation_passengers"),
    }
    assert TOOLS["user"].tools == {}
    assert len(use(DATA, "list_all_airports")[1]) == 20
    about = [json.loads(describe_tool(each)) for each in ASSISTANT.tools.values()]
    assert len(about) == 14
    for tool in about:
        takes = ASSISTANT.tools[tool["name"]].parameters["properties"]
        assert list(tool["arguments"]) == list(takes)
    assert len(WRITE_TOOLS) == 6
    assert len(READ_TOOLS) == 5


@pytest.mark.parametrize(
    "value", ["", "x" * 5_000, "\ud800", 10**900, -1, 1e308, None, [], {}, [{}], True]
)
def test_no_argument_raises_anything_else(value):
    before = repr(DATA)
    for name, tool in ASSISTANT.tools.items():
        call = ToolCall(name, dict.fromkeys(tool.parameters["properties"], value))
        reply, _ = ASSISTANT.call(call, {WORLD: DATA})
        # an error that a tool did not mean for a model begins with its type
        assert re.match(r"[A-Z]\w+: ", reply.error or "") is None
    assert repr(DATA) == before


def test_free_bags():
    assert free_bags("regular", "basic_economy", 3) == 0
    assert free_bags("silver", "economy", 2) == 4
    assert free_bags("gold", "business", 1) == 4


def test_changes_are_fields():
    after, _ = use(
        DATA, "update_reservation_passengers", reservation_id="AAA111", passengers=[ANN, CIA]
    )
    assert changed_fields(DATA, after) == {("reservations", "AAA111", "passengers"): [ANN, CIA]}
    assert changed_fields(DATA, DATA) == {}
    booked = changed_fields(DATA, book()[0])
    assert (
        len(booked) == 14 + 2 + 2
    )  # a new reservation, two fields of its user, the dates of two flights
