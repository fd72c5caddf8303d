"""Drawn tasks: a customer with a request, other bookings of the customer, and other customers."""

from __future__ import annotations

import json
import random

from llmzoo.envs.tools.airline import people
from llmzoo.envs.tools.airline.customer import to_first_person
from llmzoo.envs.tools.airline.customer_requests import REQUESTS, CustomerRequest
from llmzoo.envs.tools.airline.database import CABINS, AirlineDatabase
from llmzoo.envs.tools.airline.flight_network import network
from llmzoo.envs.tools.airline.tasks import AirlineTask
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tables import Record

STRANGERS = 2
PERSONAS = (
    "",
    "You are friendly and patient, and you write in whole sentences.",
    "You are in a hurry, and you say only what you are asked.",
)
MANNER = (
    "Answer what the agent asks. Agree if the agent asks whether to do what you want. End the call once it is done "
    "or refused and you know the figure."
)


def sample_task(rng: random.Random, *, intent: str | None) -> AirlineTask:
    """A task. intent: what the customer wants, None for any."""
    weights = [weight for _, weight in REQUESTS.values()]
    goal = intent or rng.choices(tuple(REQUESTS), weights)[0]
    make = REQUESTS[goal][0]
    request = None
    while request is None:
        owner = people.make_user(rng)
        request = make(rng, owner)
    reservations = [request.reservation] if request.reservation else []
    reservations += [_past_reservation(rng, owner) for _ in range(rng.randrange(3))]
    rng.shuffle(reservations)
    users: list[Record] = [owner, *(people.make_user(rng) for _ in range(STRANGERS))]
    for stranger in users[1:]:
        reservations.append(_past_reservation(rng, stranger))
    return _build_task(goal, rng.choice(PERSONAS), request, owner, users, reservations)


def _build_task(
    goal: str,
    persona: str,
    request: CustomerRequest,
    owner: Record,
    users: list[Record],
    reservations: list[Record],
) -> AirlineTask:
    owned = {
        user["user_id"]: [
            each["reservation_id"] for each in reservations if each["user_id"] == user["user_id"]
        ]
        for user in users
    }
    data = AirlineDatabase(
        flights=network().flights,
        users={user["user_id"]: {**user, "reservations": owned[user["user_id"]]} for user in users},
        reservations={each["reservation_id"]: each for each in reservations},
    )
    lookups = [ToolCall("get_user_details", {"user_id": owner["user_id"]})]
    if request.reservation:
        arguments = {"reservation_id": request.reservation["reservation_id"]}
        lookups.append(ToolCall("get_reservation_details", arguments))
    who = people.full_name(owner["full_name"])
    return AirlineTask(
        name="",
        goal=goal,
        reason=request.reason,
        known_info=f"You are {who}, and your user id is {owner['user_id']}.",
        instructions=" ".join((*request.details, MANNER)),
        persona=persona,
        opening=f"Hello. {to_first_person(request.reason)}",
        data=data,
        reference=(*lookups, *request.calls),
        communicate=(str(request.figure),),
        strict=True,
        form=_canonical_text(goal, request, owner),
    )


def _canonical_text(goal: str, request: CustomerRequest, owner: Record) -> str:
    """What is wanted and what matters for it, whoever the customer is."""
    booked = request.reservation or {"flights": [], "passengers": []}
    names = ("cabin", "flight_type", "total_baggages", "insurance")
    about = [booked.get(name) for name in names]
    legs = [[flight["flight_number"], flight["date"]] for flight in booked["flights"]]
    what = [goal, request.kind, owner["membership"], about, legs, len(booked["passengers"])]
    return json.dumps([*what, request.figure, request.facts])


def _past_reservation(rng: random.Random, owner: Record) -> Record:
    """A reservation of flights that have landed."""
    leg = rng.choice(network().by_status["landed"])
    cabin = rng.choice(CABINS)
    return people.make_reservation(rng, owner, [leg], cabin, insured=rng.random() < 0.3)
