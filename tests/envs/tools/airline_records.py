"""Records of the form of tau2-bench's airline tasks, in our words, and a small database of its form.

The figures of the flights HAT001 and HAT002 (May 14 to 17) are those of tau2-bench's ``db.json``; the users and the
reservations are ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _open(seats: tuple[int, int, int], prices: tuple[int, int, int]) -> dict[str, Any]:
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": "available",
        "available_seats": dict(zip(cabins, seats, strict=True)),
        "prices": dict(zip(cabins, prices, strict=True)),
    }


FLIGHTS: dict[str, Any] = {
    "HAT001": {
        **{"origin": "PHL", "destination": "LGA", "flight_number": "HAT001"},
        "scheduled_departure_time_est": "06:00:00",
        "scheduled_arrival_time_est": "07:00:00",
        "dates": {
            "2024-05-14": {"status": "cancelled"},
            "2024-05-15": {
                "status": "landed",
                "actual_departure_time_est": "2024-05-15T06:04:00",
                "actual_arrival_time_est": "2024-05-15T07:30:00",
            },
            "2024-05-16": _open((16, 10, 13), (87, 122, 471)),
            "2024-05-17": _open((16, 13, 9), (76, 189, 498)),
        },
    },
    "HAT002": {
        **{"origin": "LGA", "destination": "PHX", "flight_number": "HAT002"},
        "scheduled_departure_time_est": "21:00:00",
        "scheduled_arrival_time_est": "01:30:00+1",
        "dates": {
            "2024-05-15": {
                "status": "delayed",
                "estimated_departure_time_est": "2024-05-15T22:59:00",
                "estimated_arrival_time_est": "2024-05-16T03:29:00",
            },
            "2024-05-16": _open((17, 13, 5), (84, 166, 218)),
            "2024-05-17": _open((16, 14, 19), (89, 132, 419)),
        },
    },
    "HAT900": {  # ours
        **{"origin": "PHX", "destination": "SEA", "flight_number": "HAT900"},
        "scheduled_departure_time_est": "09:00:00",
        "scheduled_arrival_time_est": "12:00:00",
        "dates": {"2024-05-17": _open((3, 0, 4), (60, 130, 300))},
    },
}
ANN = {"first_name": "Ann", "last_name": "Bell", "dob": "1980-02-03"}
BOB = {"first_name": "Bob", "last_name": "Bell", "dob": "1982-04-05"}
CIA = {"first_name": "Cia", "last_name": "Cole", "dob": "1990-06-07"}
CARD, GIFT, PAPER = "credit_card_11", "gift_card_22", "certificate_33"
USERS: dict[str, Any] = {
    "ann_bell_1": {
        "user_id": "ann_bell_1",
        "full_name": {"first_name": "Ann", "last_name": "Bell"},
        "address": {
            **{"address1": "1 Elm Street", "address2": None, "city": "Boston"},
            **{"country": "USA", "state": "MA", "zip": "02101"},
        },
        "email": "ann@mail.example",
        "dob": "1980-02-03",
        "payment_methods": {
            CARD: {"source": "credit_card", "id": CARD, "brand": "visa", "last_four": "4321"},
            GIFT: {"source": "gift_card", "id": GIFT, "amount": 300.0},
            PAPER: {"source": "certificate", "id": PAPER, "amount": 250.0},
        },
        "saved_passengers": [BOB],
        "membership": "silver",
        "reservations": ["AAA111", "BBB222"],
    },
}


def _reservation(id: str, cabin: str, price: int, **fields: Any) -> dict[str, Any]:
    return {
        **{"reservation_id": id, "user_id": "ann_bell_1", "origin": "PHL", "destination": "LGA"},
        **{"flight_type": "one_way", "cabin": cabin},
        "flights": [
            {
                **{"flight_number": "HAT001", "origin": "PHL", "destination": "LGA"},
                **{"date": "2024-05-16", "price": price},
            }
        ],
        **{"passengers": [ANN, BOB], "created_at": "2024-05-03T10:00:00"},
        "payment_history": [{"payment_id": CARD, "amount": 2 * price}],
        **{"total_baggages": 1, "nonfree_baggages": 0, "insurance": "no"},
        **fields,
    }


RESERVATIONS = {
    "AAA111": _reservation("AAA111", "economy", 100),
    "BBB222": _reservation("BBB222", "basic_economy", 70),
}
TABLES = {"flights": FLIGHTS, "users": USERS, "reservations": RESERVATIONS}


def _act(name: str, **arguments: Any) -> dict[str, Any]:
    return {"action_id": name, "name": name, "arguments": arguments, "info": None}


UPGRADE = _act(
    "update_reservation_flights",
    **{"reservation_id": "BBB222", "cabin": "business", "payment_id": CARD},
    flights=[{"flight_number": "HAT001", "date": "2024-05-16"}],
)
BOOK = _act(
    "book_reservation",
    **{"user_id": "ann_bell_1", "origin": "PHL", "destination": "LGA"},
    **{"flight_type": "one_way", "cabin": "economy"},
    flights=[{"flight_number": "HAT001", "date": "2024-05-17"}],
    passengers=[ANN],
    payment_methods=[{"payment_id": PAPER, "amount": 189}],
    **{"total_baggages": 0, "nonfree_baggages": 0, "insurance": "no"},
)
# id -> why the customer calls, the actions, what the agent must say
TASKS: dict[str, tuple[str, list[dict[str, Any]], list[str]]] = {
    "refusal": ("You want to cancel reservation BBB222.", [], []),
    "question": (
        "You want to know how many suitcases you can take in reservation AAA111.",
        [
            _act("get_reservation_details", reservation_id="AAA111"),
            _act("get_user_details", user_id="ann_bell_1"),
        ],
        ["4"],  # a silver member, economy: 2 for each of 2 passengers
    ),
    "upgrade": (
        "You want to cancel reservation BBB222 in whatever way is possible.",
        [
            _act("get_reservation_details", reservation_id="BBB222"),
            UPGRADE,
            _act("cancel_reservation", reservation_id="BBB222"),
        ],
        ["802"],  # (471 - 70) x 2
    ),
    "booking": ("You want to fly from PHL to LGA on May 17, alone.", [BOOK], []),
    "complaint": (
        "You complain that your flight was late.",
        [
            _act("get_reservation_details", reservation_id="NO0000"),  # as some of its records do
            _act("send_certificate", user_id="ann_bell_1", amount=100),
            _act("transfer_to_human_agents", summary="more is wanted"),
        ],
        ["Silver"],
    ),
}


def record(id: str, **changes: Any) -> dict[str, Any]:
    """A record of tau2-bench's form for one of ``TASKS``."""
    reason, actions, said = TASKS[id]
    instructions = {
        "task_instructions": "Agree if the agent asks. If the agent refuses, end the call.",
        "domain": "airline",
        "reason_for_call": reason,
        "known_info": "You are Ann Bell.\nYour user id is ann_bell_1.",
        "unknown_info": "You do not know your membership.",
    }
    return {
        "id": id,
        "description": {"purpose": "", "relevant_policies": None, "notes": None},
        "user_scenario": {"persona": None, "instructions": instructions},
        "initial_state": None,
        "evaluation_criteria": {
            "actions": actions,
            "communicate_info": said,
            "nl_assertions": ["The agent is polite."],
            "reward_basis": ["DB", "COMMUNICATE"],
        },
        "annotations": None,
        **changes,
    }


def folder(path: Path, records: list[dict[str, Any]] | None = None) -> str:
    """A folder as tau2-bench has it."""
    path.mkdir(exist_ok=True)
    found = [record(id) for id in TASKS] if records is None else records
    (path / "tasks.json").write_text(json.dumps(found, indent=1))
    (path / "db.json").write_text(json.dumps(TABLES))
    (path / "split_tasks.json").write_text(json.dumps({"test": [r["id"] for r in found[:2]]}))
    return str(path)
