"""Writes the sample of bfcl_multi_turn_v0: dialogues over its APIs, as records of BFCL's form.

    python scripts/samples/bfcl_dialogues.py

Each story is a dialogue of the category base. Some also give a dialogue in which a function or a parameter is
missing at first, and one with a long context. ``<name>`` in a call stands for the value of this name in an
earlier response. ``tests/envs/tools/test_bfcl_multi_turn_tasks.py`` holds the file against this.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.execution import build_world, execute, parse_call
from llmzoo.envs.tools.bfcl_multi_turn.tools import api_tools

FILE = Path(__file__).parents[2] / "llmzoo/envs/tools/bfcl_multi_turn/sample.jsonl"


@dataclass(frozen=True)
class Story:
    """turns: what the user writes, and the calls. without: a turn and the functions that it waits for.
    vague: a turn, what the user writes there at first, and what next. long: also with a long context."""

    config: dict[str, Any]
    turns: list[tuple[str, list[str]]]
    without: tuple[int, list[str]] | None = None
    vague: tuple[int, str, str] | None = None
    long: bool = False
    apis: tuple[str, ...] = field(default=())  # those without a configuration


def folder(**entries: Any) -> dict[str, Any]:
    """A directory of BFCL's form: a text is a file, a dict a directory."""
    contents = {
        name.replace("__", "."): {"type": "file", "content": entry}
        if isinstance(entry, str)
        else entry
        for name, entry in entries.items()
    }
    return {"type": "directory", "contents": contents}


def disk(name: str, **entries: Any) -> dict[str, Any]:
    return {"root": {name: folder(**entries)}}


CARD = {
    "card_7": {
        "card_number": "7000111122223333",
        "expiration_date": "04/2029",
        "cardholder_name": "Mara Lind",
        "card_verification_number": 271,
        "balance": 9000.0,
    }
}
TRAVELLER = {
    "random_seed": 77,
    "credit_card_list": CARD,
    "booking_record": {},
    "access_token": "tok-mara",
    "token_type": "Bearer",
    "token_expires_in": 90,
    "token_scope": "read_write",
    "user_first_name": "Mara",
    "user_last_name": "Lind",
    "budget_limit": None,
}
TEAM = {
    "user_map": {"Ines": "USR101", "Jonas": "USR102", "Kofi": "USR103"},
    "user_count": 103,
    "current_user": "USR101",
    "inbox": [{"USR102": "The samples are on your desk."}],
    "message_count": 1,
}

STORIES = [
    Story(
        {
            "GorillaFileSystem": disk(
                "home",
                lab=folder(
                    run1__log="start\nwarning: cold lamp\nend\n",
                    run2__log="start\nend\n",
                    results=folder(),
                ),
            )
        },
        [
            (
                "Look into the folder lab, hidden files too, please.",
                ["cd(folder='lab')", "ls(a=True)"],
            ),
            (
                "Put run1.log into the folder results.",
                ["mv(source='run1.log', destination='results')"],
            ),
            (
                "Which lines of it have the word warning?",
                ["cd(folder='results')", "grep(file_name='run1.log', pattern='warning')"],
            ),
            ("And how many lines does it have in all?", ["wc(file_name='run1.log', mode='l')"]),
        ],
        without=(1, ["mv"]),
        vague=(1, "Put one of the logs into the folder results.", "I mean run1.log."),
        long=True,
    ),
    Story(
        {
            "GorillaFileSystem": disk(
                "office", notes__txt="pump leaks\nfilter old\nvalve stuck\n", drafts=folder()
            ),
            "TicketAPI": {"ticket_queue": [], "ticket_counter": 40, "current_user": "petra"},
        },
        [
            (
                "Sort the lines of notes.txt for me; I want to see them.",
                ["sort(file_name='notes.txt')"],
            ),
            (
                "Open a ticket 'Pump leaks' of priority 4, without a description.",
                ["create_ticket(title='Pump leaks', priority=4)"],
            ),
            (
                "The pump is repaired: mark the ticket as resolved with 'Seal replaced'.",
                ["resolve_ticket(ticket_id=<id>, resolution='Seal replaced')"],
            ),
        ],
        without=(1, ["create_ticket"]),
        vague=(
            1,
            "Open a ticket on the pump for me, without a description.",
            "Call it 'Pump leaks', with priority 4.",
        ),
        long=True,
    ),
    Story(
        {
            "VehicleControlAPI": {
                "random_seed": 5,
                "fuelLevel": 6.5,
                "batteryVoltage": 12.4,
                "engineState": "stopped",
                "doorStatus": {
                    "driver": "unlocked",
                    "passenger": "locked",
                    "rear_left": "unlocked",
                    "rear_right": "locked",
                },
                "parkingBrakeStatus": "engaged",
                "parkingBrakeForce": 500.0,
            },
            "MessageAPI": TEAM,
        },
        [
            ("Add 20 gallons of fuel to my car.", ["fillFuelTank(fuelAmount=20)"]),
            (
                "Lock the doors that are open, press the brake all the way and start the engine.",
                [
                    "lockDoors(unlock=False, door=['driver', 'rear_left'])",
                    "pressBrakePedal(pedalPosition=1.0)",
                    "startEngine(ignitionMode='START')",
                ],
            ),
            (
                "Write to Jonas 'I am leaving now.'",
                [
                    "get_user_id(user='Jonas')",
                    "send_message(receiver_id='USR102', message='I am leaving now.')",
                ],
            ),
        ],
        without=(0, ["fillFuelTank"]),
        vague=(2, "Tell Jonas that I am leaving.", "Write exactly 'I am leaving now.'"),
        long=True,
    ),
    Story(
        {
            "VehicleControlAPI": {
                "frontLeftTirePressure": 29.0,
                "frontRightTirePressure": 31.0,
                "rearLeftTirePressure": 27.0,
                "rearRightTirePressure": 28.0,
                "fuelLevel": 12.0,
            }
        },
        [
            ("What is the pressure of my tyres?", ["check_tire_pressure()"]),
            (
                "Compute the mean of the four, in the order front left, front right, rear left, rear right.",
                ["mean(numbers=[29.0, 31.0, 27.0, 28.0])"],
            ),
            (
                "Too low. Find the nearest tyre shop and set the navigation to it.",
                [
                    "find_nearest_tire_shop()",
                    "set_navigation(destination='456 Oakwood Avenue, Rivermist, 83214')",
                ],
            ),
        ],
        apis=("MathAPI",),
        without=(1, ["mean"]),
        long=True,
    ),
    Story(
        {
            "TradingBot": {
                "authenticated": True,
                "market_status": "Open",
                "watch_list": ["NVDA", "ZETA"],
                "order_counter": 501,
                "orders": {},
                "transaction_history": [],
            }
        },
        [
            (
                "Take Zeta Corp off my watchlist and show me what is left on it.",
                [
                    "get_symbol_by_name(name='Zeta Corp')",
                    "remove_stock_from_watchlist(symbol='ZETA')",
                    "get_watchlist()",
                ],
            ),
            ("What does a share of Neptune Systems cost now?", ["get_stock_info(symbol='NEPT')"]),
            (
                "Buy 30 shares of it at this price.",
                ["place_order(order_type='Buy', symbol='NEPT', price=88.34, amount=30)"],
            ),
            ("I have changed my mind. Cancel that order.", ["cancel_order(order_id=<order_id>)"]),
        ],
        without=(2, ["place_order"]),
        vague=(2, "Buy some shares of it at this price.", "30 of them."),
        long=True,
    ),
    Story(
        {
            "TradingBot": {
                "random_seed": 9,
                "authenticated": True,
                "market_status": "Open",
                "account_info": {"account_id": 88, "balance": 420.5, "binding_card": 5500},
                "transaction_history": [],
            },
            "MessageAPI": TEAM,
        },
        [
            ("How much money is in my trading account?", ["get_account_info()"]),
            ("Put another 600 dollars into it.", ["fund_account(amount=600)"]),
            (
                "Tell Kofi, who is USR103: 'The account has 1020.5 dollars.'",
                ["send_message(receiver_id='USR103', message='The account has 1020.5 dollars.')"],
            ),
            ("Delete that message again, please.", ["delete_message(receiver_id='USR103')"]),
        ],
        without=(1, ["fund_account"]),
        vague=(1, "Put some money into it.", "600 dollars."),
    ),
    Story(
        {"TravelAPI": TRAVELLER},
        [
            (
                "What does a flight from San Francisco to New York cost in business on the 2nd of May 2025?",
                [
                    "get_nearest_airport_by_city(location='San Francisco')",
                    "get_nearest_airport_by_city(location='New York')",
                    "get_flight_cost(travel_from='SFO', travel_to='JFK', travel_date='2025-05-02', travel_class='business')",
                ],
            ),
            (
                "Book it with card_7. My access token is tok-mara.",
                [
                    "book_flight(access_token='tok-mara', card_id='card_7', travel_date='2025-05-02', travel_from='SFO', travel_to='JFK', travel_class='business')"
                ],
            ),
            (
                "Show me the invoice.",
                ["retrieve_invoice(access_token='tok-mara', booking_id='<booking_id>')"],
            ),
            (
                "The trip is off. Cancel the booking.",
                ["cancel_booking(access_token='tok-mara', booking_id='<booking_id>')"],
            ),
        ],
        without=(1, ["book_flight"]),
        vague=(
            1,
            "Book it with one of my cards. My access token is tok-mara.",
            "With the card card_7.",
        ),
        long=True,
    ),
    Story(
        {
            "TravelAPI": {**TRAVELLER, "random_seed": 12},
            "TicketAPI": {"ticket_queue": [], "ticket_counter": 7, "current_user": None},
        },
        [
            (
                "Book a flight in economy from BOS to RMS on 2025-08-19 for me. The token is tok-mara and the card card_7.",
                [
                    "book_flight(access_token='tok-mara', card_id='card_7', travel_date='2025-08-19', travel_from='BOS', travel_to='RMS', travel_class='economy')"
                ],
            ),
            (
                "Add an insurance of the type 'baggage' for 45 dollars, from the same card.",
                [
                    "purchase_insurance(access_token='tok-mara', insurance_type='baggage', booking_id='<booking_id>', insurance_cost=45.0, card_id='card_7')"
                ],
            ),
            (
                "Log in to the tickets as mara with the password sesame, and open one of priority 2 with the title 'Trip to Rivermist' and the description 'Please confirm.'",
                [
                    "ticket_login(username='mara', password='sesame')",
                    "create_ticket(title='Trip to Rivermist', description='Please confirm.', priority=2)",
                ],
            ),
        ],
        without=(2, ["ticket_login"]),
        vague=(
            1,
            "Add an insurance for 45 dollars, from the same card.",
            "Of the type 'baggage'.",
        ),
    ),
    Story(
        {
            "GorillaFileSystem": disk(
                "press", slogan__txt="Less noise, more light.", old=folder(slogan__txt="Light!")
            ),
            "TwitterAPI": {
                "username": "lumen",
                "password": "lamp-9",
                "authenticated": False,
                "tweets": {},
                "tweet_counter": 12,
            },
        },
        [
            ("What does slogan.txt say?", ["cat(file_name='slogan.txt')"]),
            (
                "Log in as lumen with the password lamp-9 and post just that text, with the tag #lumen.",
                [
                    "authenticate_twitter(username='lumen', password='lamp-9')",
                    "post_tweet(content='Less noise, more light.', tags=['#lumen'])",
                ],
            ),
            (
                "Comment 'Coming in spring.' below it.",
                ["comment(tweet_id=<id>, comment_content='Coming in spring.')"],
            ),
            ("Now remove the folder old with all that is in it.", ["rm(file_name='old')"]),
        ],
        without=(1, ["post_tweet", "authenticate_twitter"]),
        vague=(2, "Comment on it.", "Write 'Coming in spring.'"),
    ),
    Story(
        {
            "TwitterAPI": {
                "username": "orchard",
                "password": "pear",
                "authenticated": True,
                "tweets": {
                    "3": {
                        "id": 3,
                        "username": "hive",
                        "content": "The bees are back.",
                        "tags": ["#bees"],
                        "mentions": [],
                    }
                },
                "tweet_counter": 4,
                "following_list": ["hive", "dew"],
                "retweets": {},
            }
        },
        [
            ("Which tweets speak of bees?", ["search_tweets(keyword='bees')"]),
            (
                "Retweet the one by hive, and mention @dew and @moss in it.",
                [
                    "retweet(tweet_id=3)",
                    "mention(tweet_id=3, mentioned_usernames=['@dew', '@moss'])",
                ],
            ),
            (
                "How many users do I follow? Tell me too how many percent of 8 that is.",
                ["get_user_stats(username='orchard')", "percentage(part=2, whole=8)"],
            ),
        ],
        apis=("MathAPI",),
        without=(1, ["retweet"]),
    ),
]


def records() -> list[dict[str, Any]]:
    made = []
    for number, story in enumerate(STORIES):
        apis = (*story.config, *story.apis)
        turns = filled(story)
        owner = {name: api for api in apis for name in api_tools(api)}
        shared = {
            "initial_config": story.config,
            "involved_classes": list(apis),
            "path": [f"{owner[n]}.{n}" for n in (c.split("(")[0] for _, t in turns for c in t)],
        }
        made.append(record("base", number, turns, shared))
        if story.without:
            at, functions = story.without
            text, calls = turns[at]
            split = [*turns[:at], (text, []), ("", calls), *turns[at + 1 :]]
            missed = {"missed_function": {str(at + 1): functions}}
            made.append(record("miss_func", number, split, {**shared, **missed}))
        if story.vague:
            at, text, detail = story.vague
            split = [*turns[:at], (text, []), (detail, turns[at][1]), *turns[at + 1 :]]
            made.append(record("miss_param", number, split, shared))
        if story.long:
            made.append(record("long_context", number, turns, shared))
    return made


def filled(story: Story) -> list[tuple[str, list[str]]]:
    """The turns, with the values of earlier responses."""
    world = build_world((*story.config, *story.apis), deepcopy(story.config), None)
    known: dict[str, Any] = {}
    turns = []
    for text, calls in story.turns:
        done = []
        for call in calls:
            for name, value in known.items():
                call = call.replace(f"<{name}>", str(value))
            done.append(call)
            (response,) = execute([parse_call(call)], world)
            if response.startswith("{"):
                known |= json.loads(response)
        turns.append((text, done))
    return turns


def record(
    category: str, number: int, turns: list[tuple[str, list[str]]], shared: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"multi_turn_{category}_{number}",
        "question": [[{"role": "user", "content": text}] if text else [] for text, _ in turns],
        **shared,
        "ground_truth": [calls for _, calls in turns],
    }


def main() -> None:
    lines = [json.dumps(each, ensure_ascii=False) for each in records()]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} dialogues in {FILE}")


if __name__ == "__main__":
    main()
