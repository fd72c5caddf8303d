"""Drawn tasks: a customer with a request, other bookings of the customer, and other customers."""

from __future__ import annotations

import json
import random

from llmzoo.envs.tools.airline import people
from llmzoo.envs.tools.airline.customer import first_person
from llmzoo.envs.tools.airline.database import CABINS, Database
from llmzoo.envs.tools.airline.network import network
from llmzoo.envs.tools.airline.requests import REQUESTS, Request
from llmzoo.envs.tools.airline.tasks import Task
from llmzoo.envs.tools.service.tables import Record
from llmzoo.envs.tools.service.toolset import Call

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


def draw(rng: random.Random, *, intent: str | None) -> Task:
    """A task. intent: what the customer wants, None for any."""
    weights = [weight for _, weight in REQUESTS.values()]
    goal = intent or rng.choices(tuple(REQUESTS), weights)[0]
    make = REQUESTS[goal][0]
    request = None
    while request is None:
        owner = people.user(rng)
        request = make(rng, owner)
    booked = [request.booked] if request.booked else []
    booked += [_other(rng, owner) for _ in range(rng.randrange(3))]
    rng.shuffle(booked)
    users: list[Record] = [owner, *(people.user(rng) for _ in range(STRANGERS))]
    for stranger in users[1:]:
        booked.append(_other(rng, stranger))
    return _task(goal, rng.choice(PERSONAS), request, owner, users, booked)


def _task(
    goal: str,
    persona: str,
    request: Request,
    owner: Record,
    users: list[Record],
    booked: list[Record],
) -> Task:
    owned = {
        user["user_id"]: [
            each["reservation_id"] for each in booked if each["user_id"] == user["user_id"]
        ]
        for user in users
    }
    data = Database(
        flights=network().flights,
        users={user["user_id"]: {**user, "reservations": owned[user["user_id"]]} for user in users},
        reservations={each["reservation_id"]: each for each in booked},
    )
    looked = [Call("assistant", "get_user_details", {"user_id": owner["user_id"]})]
    if request.booked:
        asked = {"reservation_id": request.booked["reservation_id"]}
        looked.append(Call("assistant", "get_reservation_details", asked))
    who = people.called(owner["full_name"])
    return Task(
        name="",
        goal=goal,
        reason=request.wants,
        known=f"You are {who}, and your user id is {owner['user_id']}.",
        instructions=" ".join((*request.details, MANNER)),
        persona=persona,
        opening=f"Hello. {first_person(request.wants)}",
        data=data,
        reference=(*looked, *request.calls),
        communicate=(str(request.figure),),
        strict=True,
        form=_form(goal, request, owner),
    )


def _form(goal: str, request: Request, owner: Record) -> str:
    """What is wanted and what matters for it, whoever the customer is."""
    booked = request.booked or {"flights": [], "passengers": []}
    names = ("cabin", "flight_type", "total_baggages", "insurance")
    about = [booked.get(name) for name in names]
    legs = [[flight["flight_number"], flight["date"]] for flight in booked["flights"]]
    what = [goal, request.kind, owner["membership"], about, legs, len(booked["passengers"])]
    return json.dumps([*what, request.figure, request.facts])


def _other(rng: random.Random, owner: Record) -> Record:
    """A reservation of flights that have landed."""
    leg = rng.choice(network().by_status["landed"])
    cabin = rng.choice(CABINS)
    return people.reservation(rng, owner, [leg], cabin, insured=rng.random() < 0.3)
