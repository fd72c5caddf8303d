"""The customers of drawn tasks and what they have booked."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.envs.tools.airline.database import (
    BAG_PRICE,
    INSURANCE_PRICE,
    NOW,
    free_bags,
)
from llmzoo.envs.tools.airline.flight_network import Leg, network
from llmzoo.envs.tools.service.tables import Record

_FIRST = (
    *("Ada", "Bruno", "Carla", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ida", "Jonas", "Karin"),
    *("Leon", "Mila", "Nuri", "Olga", "Pavel", "Rosa", "Samir", "Tilda", "Umberto", "Vera", "Yusuf"),
)  # fmt: skip
_LAST = (
    *("Abel", "Brandt", "Castro", "Dorn", "Eriksen", "Fuchs", "Gallo", "Haddad", "Ivanov", "Jensen"),
    *("Kovac", "Lindner", "Moreau", "Novak", "Okoye", "Petrov", "Quint", "Ruiz", "Sato", "Tanaka"),
)  # fmt: skip
_STREETS = ("Birch Street", "Canal Road", "Harbor Lane", "Mill Avenue", "Orchard Way")
_HOMES = (
    *(("Denver", "CO"), ("Boston", "MA"), ("Seattle", "WA"), ("Miami", "FL"), ("Dallas", "TX")),
    *(("Chicago", "IL"), ("Phoenix", "AZ"), ("Atlanta", "GA")),
)
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"

Person = Mapping[str, str]


def make_person(rng: random.Random) -> dict[str, str]:
    born = f"{rng.randrange(1945, 2004)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
    return {"first_name": rng.choice(_FIRST), "last_name": rng.choice(_LAST), "dob": born}


def full_name(each: Person) -> str:
    return f"{each['first_name']} {each['last_name']}"


def make_user(rng: random.Random) -> dict[str, Any]:
    """A user without reservations."""
    who = make_person(rng)
    number = rng.randrange(1_000, 10_000)
    first, last = who["first_name"], who["last_name"]
    city, state = rng.choice(_HOMES)
    methods: dict[str, Any] = {}
    for source, share in (("credit_card", 1.0), ("gift_card", 0.6), ("certificate", 0.5)):
        if rng.random() < share:
            id = f"{source}_{rng.randrange(1_000_000, 9_999_999)}"
            methods[id] = {"source": source, "id": id} | (
                {"brand": rng.choice(("visa", "mastercard")), "last_four": f"{rng.randrange(10_000):04d}"}
                if source == "credit_card"
                else {"amount": 50 * rng.randrange(1, 7)}
            )  # fmt: skip
    return {
        "user_id": f"{first}_{last}_{number}".lower(),
        "full_name": {"first_name": first, "last_name": last},
        "address": {
            "address1": f"{rng.randrange(1, 900)} {rng.choice(_STREETS)}",
            "address2": None,
            **{"city": city, "country": "USA", "state": state},
            "zip": f"{rng.randrange(10_000, 99_999)}",
        },
        "email": f"{first}.{last}{number}@mail.example".lower(),
        "dob": who["dob"],
        "payment_methods": methods,
        "saved_passengers": [make_person(rng) for _ in range(rng.randrange(1, 4))],
        "membership": rng.choice(("regular", "regular", "silver", "gold")),
        "reservations": [],
    }


def as_passenger(owner: Record) -> dict[str, str]:
    """A user as a passenger."""
    return {**owner["full_name"], "dob": owner["dob"]}


def make_party(rng: random.Random, owner: Record, number: int) -> list[dict[str, str]]:
    """A user and saved passengers."""
    return [as_passenger(owner), *owner["saved_passengers"]][:number]


def payment_method(owner: Record, source: str) -> Record | None:
    """A user's payment method of a kind."""
    found = owner["payment_methods"].values()
    return next((each for each in found if each["source"] == source), None)


def credit_card(owner: Record) -> Record:
    """A user's credit card, which every drawn user has."""
    found = payment_method(owner, "credit_card")
    assert found is not None
    return found


def make_reservation(
    rng: random.Random,
    owner: Record,
    legs: Sequence[Leg],
    cabin: str,
    *,
    insured: bool,
    recent: bool = False,
) -> dict[str, Any]:
    """What a user has booked. recent: within the last 24 hours."""
    flights: list[dict[str, Any]] = []
    for leg in legs:
        origin, destination = network().ends(leg)
        price = network().price(leg, cabin, rng)
        flights.append(
            {
                **{"flight_number": leg.number, "origin": origin, "destination": destination},
                **{"date": leg.date, "price": price},
            }
        )
    people = make_party(rng, owner, rng.choice((1, 1, 2, 3)))
    free = free_bags(owner["membership"], cabin, len(people))
    bags = rng.randrange(len(people) + 2)
    paid_bags = max(0, bags - free)
    price = sum(flight["price"] for flight in flights) * len(people)
    price += BAG_PRICE * paid_bags + INSURANCE_PRICE * len(people) * insured
    return {
        "reservation_id": "".join(rng.choice(_LETTERS) for _ in range(6)),
        "user_id": owner["user_id"],
        **{"origin": flights[0]["origin"], "destination": flights[0]["destination"]},
        "flight_type": "round_trip" if len(legs) == 2 else "one_way",
        **{"cabin": cabin, "flights": flights, "passengers": people},
        "payment_history": [{"payment_id": credit_card(owner)["id"], "amount": price}],
        "created_at": _booking_time(rng, recent),
        **{"total_baggages": bags, "nonfree_baggages": paid_bags},
        **{"insurance": "yes" if insured else "no", "status": None},
    }


def _booking_time(rng: random.Random, recent: bool) -> str:
    if recent:
        return f"{NOW[:8]}15T{rng.randrange(0, 14):02d}:{rng.randrange(60):02d}:00"
    return f"2024-05-{rng.randrange(1, 14):02d}T{rng.randrange(24):02d}:{rng.randrange(60):02d}:00"
