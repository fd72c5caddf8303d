"""What customers of drawn tasks want: requests that the policy allows or forbids, with what the reference does.

A request names its reservation, its flights and its payment so that one end of the records is right. Its customer
asks for one figure, which the agent finds in the records.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.tools.airline import people
from llmzoo.envs.tools.airline.database import (
    AIRPORTS,
    BAG_PRICE,
    CABINS,
    INSURANCE_PRICE,
    free_bags,
    paid_in_all,
)
from llmzoo.envs.tools.airline.network import UPCOMING, Leg, network
from llmzoo.envs.tools.service.tables import Record
from llmzoo.envs.tools.service.toolset import Call

COST = "Before you end the call, ask how many dollars you have paid for this reservation in all."
REFUSED = "If this cannot be done, leave everything as it is."
_HEALTH = "you are ill and your doctor tells you not to fly"
_STORM = "a storm is forecast where you want to go"
_PLANS = "your plans have changed"


@dataclass(frozen=True, eq=False)
class Request:
    """A request. wants: why the customer calls. details: what the customer says when asked. calls: the
    reference's, without looking up the user. figure: what the agent must say. kind: which of the intent's cases
    it is. booked: the reservation that it is about."""

    wants: str
    details: tuple[str, ...]
    calls: tuple[Call, ...]
    figure: int
    kind: str
    booked: Record | None = None
    facts: tuple[Any, ...] = field(default=())


Draw = Callable[[random.Random, Record], Request | None]  # None: these draws do not fit together


def booking(rng: random.Random, owner: Record) -> Request | None:
    route = rng.choice(sorted(network().routes))
    cabin, number = rng.choice(CABINS), rng.choice((1, 1, 2, 3))
    riders = people.party(rng, owner, number)
    rule = rng.choice(tuple(_RULES))
    days = sorted(rng.sample(range(len(UPCOMING)), rng.choice((1, 2))))
    legs: list[Leg] = []
    for day, way in zip(days, (route, route[::-1]), strict=False):
        leg = _chosen(rule, way, UPCOMING[day], cabin, len(riders))
        if leg is None:
            return None
        legs.append(leg)
    insured, bags = rng.random() < 0.4, rng.randrange(len(riders) * 2 + 1)
    paid_bags = max(0, bags - free_bags(owner["membership"], cabin, len(riders)))
    price = sum(network().price(leg, cabin, rng) for leg in legs) + INSURANCE_PRICE * insured
    price = price * len(riders) + BAG_PRICE * paid_bags
    how, payments = _payments(rng, owner, price)
    arguments = {
        **{"user_id": owner["user_id"], "origin": route[0], "destination": route[1]},
        **{"flight_type": "one_way" if len(legs) == 1 else "round_trip", "cabin": cabin},
        "flights": [leg.info() for leg in legs],
        **{"passengers": riders, "payment_methods": payments, "total_baggages": bags},
        **{"nonfree_baggages": paid_bags, "insurance": "yes" if insured else "no"},
    }
    ways = "one way" if len(legs) == 1 else f"and back on {legs[1].date}"
    trip = f"from {_city(route[0])} to {_city(route[1])} on {legs[0].date}, {ways}"
    named = " and ".join(f"{people.called(each)}, born {each['dob']}" for each in riders)
    each_way = "" if len(legs) == 1 else " each way"
    return Request(
        f"You want to book a trip {trip}.",
        (
            f"You want the direct flight{each_way} that {_RULES[rule]}, in the cabin {_said(cabin)}.",
            f"The passengers are {named}, in this order.",
            f"You have {_count(bags, 'checked bag')} in all.",
            f"You {'want' if insured else 'do not want'} travel insurance.",
            f"You pay {how}.",
            "Before you end the call, ask how many dollars the whole booking costs.",
        ),
        (*_searches(legs), Call("assistant", "book_reservation", arguments)),
        price,
        f"booked {rule}",
        facts=(route, legs, cabin, len(riders), bags, insured, [p["amount"] for p in payments]),
    )


def cancellation(rng: random.Random, owner: Record) -> Request | None:
    """Allowed within 24 hours, in business, for a flight that the airline has cancelled, and for health or
    weather with insurance."""
    kind = rng.choice(("recent", "business", "airline", "insured", "insured", *_NOT_CANCELLED))
    cabin = "business" if kind == "business" else rng.choice(CABINS[:2])
    legs = _trip(rng, cabin, cancelled=kind == "airline")
    if legs is None:
        return None
    insured = kind in ("insured", "insured, other plans")
    booked = people.reservation(rng, owner, legs, cabin, insured=insured, recent=kind == "recent")
    why = rng.choice((_HEALTH, _STORM)) if kind in ("insured", "uninsured, ill") else _PLANS
    why = "the airline has cancelled your flight" if kind == "airline" else why
    allowed = kind not in _NOT_CANCELLED
    cancel = Call("assistant", "cancel_reservation", {"reservation_id": booked["reservation_id"]})
    return Request(
        "You want to cancel a reservation and get your money back.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"The reason is that {why}.",
            "Before you end the call, ask how many dollars are refunded."
            if allowed
            else f"{REFUSED} {COST}",
        ),
        (cancel,) if allowed else (),
        paid_in_all(booked),
        kind,
        booked,
        (why,),
    )


def change(rng: random.Random, owner: Record) -> Request | None:
    """The last flight on another day; basic economy cannot be changed."""
    allowed = rng.random() < 0.65
    cabin = rng.choice(CABINS[1:]) if allowed else CABINS[0]
    legs = _trip(rng, cabin)
    if legs is None:
        return None
    booked = people.reservation(rng, owner, legs, cabin, insured=rng.random() < 0.3)
    number, rule = len(booked["passengers"]), rng.choice(tuple(_RULES))
    after = [date for date in UPCOMING if date > legs[0].date and date != legs[-1].date]
    if not after:
        return None
    date = rng.choice(after)
    new = _chosen(rule, network().ends(legs[-1]), date, cabin, number)
    if new is None:
        return None
    more = network().price(new, cabin, rng) - booked["flights"][-1]["price"]
    how, source = _single(rng, owner, more * number)
    if more == 0:
        return None
    flights = [leg.info() for leg in (*legs[:-1], new)]
    update = _flights(booked, cabin, flights, source)
    calls = (*_searches([new]), update) if allowed else ()
    origin, destination = network().ends(new)
    return Request(
        f"You want to move your flight from {_city(origin)} to {_city(destination)} to another day.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"You want to fly on {date}, with the direct flight that {_RULES[rule]}.",
            f"If there is a difference in price, use {how}.",
            "Before you end the call, ask how many dollars the difference in price is."
            if allowed
            else f"{REFUSED} {COST}",
        ),
        calls,
        abs(more) * number if allowed else paid_in_all(booked),
        "moved" if allowed else "basic economy",
        booked,
        (new, source == people.card(owner)["id"]),
    )


def cabin(rng: random.Random, owner: Record) -> Request | None:
    """Every reservation can have another cabin, for all of its flights."""
    old, new = rng.sample(CABINS, 2)
    legs = _trip(rng, old)
    if legs is None:
        return None
    booked = people.reservation(rng, owner, legs, old, insured=rng.random() < 0.3)
    number = len(booked["passengers"])
    if any(network().status(leg)["available_seats"][new] < number for leg in legs):
        return None
    more = sum(network().price(leg, new, rng) for leg in legs)
    more = (more - sum(flight["price"] for flight in booked["flights"])) * number
    how, source = _single(rng, owner, more)
    if more == 0:
        return None
    update = _flights(booked, new, [leg.info() for leg in legs], source)
    return Request(
        "You want to fly in another cabin on all flights of a reservation.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"You want the cabin {_said(new)}, on the same flights.",
            f"If there is a difference in price, use {how}.",
            "Before you end the call, ask how many dollars the difference in price is.",
        ),
        (*_searches(legs), update),
        abs(more),
        "another cabin",
        booked,
        (new, source == people.card(owner)["id"]),
    )


def baggage(rng: random.Random, owner: Record) -> Request | None:
    """Bags can be added and not taken away."""
    booked = _any_reservation(rng, owner)
    if booked is None:
        return None
    allowed, count = rng.random() < 0.7, rng.randrange(1, 4)
    old = booked["total_baggages"]
    if not allowed and not old:
        return None
    count = count if allowed else 1
    free = free_bags(owner["membership"], booked["cabin"], len(booked["passengers"]))
    paid_bags = max(0, old + count - free)
    fee = BAG_PRICE * (paid_bags - booked["nonfree_baggages"])
    arguments = {
        **{"reservation_id": booked["reservation_id"], "total_baggages": old + count},
        **{"nonfree_baggages": paid_bags, "payment_id": people.card(owner)["id"]},
    }
    add = Call("assistant", "update_reservation_baggages", arguments)
    bags = _count(count, "checked bag")
    return Request(
        f"You want to {'add' if allowed else 'take away'} {bags} {'to' if allowed else 'from'} "
        "a reservation.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"You pay with {_card(owner)}."
            if allowed
            else f"You want the money for the bag back on {_card(owner)}.",
            COST.replace("paid", "then paid") if allowed else f"{REFUSED} {COST}",
        ),
        (add,) if allowed else (),
        paid_in_all(booked) + (fee if allowed else 0),
        "added" if allowed else "taken away",
        booked,
        (count,),
    )


def passengers(rng: random.Random, owner: Record) -> Request | None:
    """Another person can fly, but no more and no fewer people."""
    booked = _any_reservation(rng, owner)
    if booked is None:
        return None
    allowed, new = rng.random() < 0.6, people.person(rng)
    named = f"{people.called(new)}, born {new['dob']}"
    old = booked["passengers"][-1]
    riders = [*booked["passengers"][:-1], new]
    arguments = {"reservation_id": booked["reservation_id"], "passengers": riders}
    swap = Call("assistant", "update_reservation_passengers", arguments)
    return Request(
        "You want another passenger on a reservation.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"The passenger {people.called(old)} does not fly, and {named}, flies instead."
            if allowed
            else f"You want {named}, as a further passenger beside all those who fly.",
            COST if allowed else f"{REFUSED} {COST}",
        ),
        (swap,) if allowed else (),
        paid_in_all(booked),
        "another" if allowed else "one more",
        booked,
    )


def insurance(rng: random.Random, owner: Record) -> Request | None:
    """It cannot be added later."""
    booked = _any_reservation(rng, owner, insured=False)
    if booked is None:
        return None
    return Request(
        "You want to add travel insurance to a reservation.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"You pay with {_card(owner)}.",
            f"{REFUSED} {COST}",
        ),
        (),
        paid_in_all(booked),
        "insurance",
        booked,
    )


def compensation(rng: random.Random, owner: Record) -> Request | None:
    """A certificate for a delayed or cancelled flight, for members, the insured and business."""
    claim = rng.choice(("delayed", "cancelled"))
    kind = rng.choice(("due", "due", "not entitled", "not so"))
    status = rng.choice(("landed", "on time")) if kind == "not so" else claim
    leg = rng.choice(network().by_status[status])
    cabin, insured = rng.choice(CABINS), rng.random() < 0.3
    entitled = owner["membership"] != "regular" or insured or cabin == "business"
    if kind != "not so" and entitled != (kind == "due"):
        return None
    booked = people.reservation(rng, owner, [leg], cabin, insured=insured)
    amount = (50 if claim == "delayed" else 100) * len(booked["passengers"])
    look = Call("assistant", "get_flight_status", {"flight_number": leg.number, "date": leg.date})
    send = Call("assistant", "send_certificate", {"user_id": owner["user_id"], "amount": amount})
    origin, destination = network().ends(leg)
    return Request(
        f"You want a compensation, since your flight from {_city(origin)} to {_city(destination)} was "
        f"{claim}.",
        (
            f"The reservation is {booked['reservation_id']}.",
            f"The reason is that the flight on {leg.date} was {claim}.",
            f"{REFUSED} {COST}",
        ),
        (look, send) if kind == "due" else (look,),
        paid_in_all(booked),
        kind,
        booked,
        (claim,),
    )


REQUESTS: Mapping[str, tuple[Draw, float]] = {  # and how often it is drawn
    "booking": (booking, 3.0),
    "cancellation": (cancellation, 3.0),
    "change": (change, 2.0),
    "cabin": (cabin, 2.0),
    "baggage": (baggage, 1.5),
    "passengers": (passengers, 1.0),
    "insurance": (insurance, 0.5),
    "compensation": (compensation, 1.5),
}

_NOT_CANCELLED = ("uninsured, ill", "other plans", "insured, other plans")
_RULES = {"cheapest": "costs least", "first": "leaves first", "last": "leaves last"}


def _chosen(
    rule: str, route: tuple[str, str], date: str, cabin: str, passengers: int
) -> Leg | None:
    """The one flight that a rule names; None if there is none, or if it or another has no seats."""
    legs = network().bookable(route, date)
    prices = [network().status(leg)["prices"][cabin] for leg in legs]
    seats = [network().status(leg)["available_seats"][cabin] for leg in legs]
    if not legs or min(seats) < passengers or len({*prices}) < len(prices):
        return None
    if rule == "cheapest":
        return legs[prices.index(min(prices))]
    return (min if rule == "first" else max)(legs, key=network().departs)


def _trip(rng: random.Random, cabin: str, *, cancelled: bool = False) -> list[Leg] | None:
    """One flight, or one there and one back. cancelled: by the airline, the first of them."""
    route = rng.choice(sorted(network().routes))
    days = sorted(rng.sample(UPCOMING, rng.choice((1, 2))))
    legs: list[Leg] = []
    for date, way in zip(days, (route, route[::-1]), strict=False):
        found = network().bookable(way, date)
        if cancelled and not legs:
            found = [
                leg
                for number in network().routes[way]
                if network().status(leg := Leg(number, date))["status"] == "cancelled"
            ]
        if not found:
            return None
        legs.append(rng.choice(found))
    return legs


def _any_reservation(
    rng: random.Random, owner: Record, insured: bool | None = None
) -> Record | None:
    cabin = rng.choice(CABINS)
    legs = _trip(rng, cabin)
    insured = rng.random() < 0.3 if insured is None else insured
    return None if legs is None else people.reservation(rng, owner, legs, cabin, insured=insured)


def _searches(legs: list[Leg]) -> list[Call]:
    found = []
    for leg in legs:
        origin, destination = network().ends(leg)
        asked = {"origin": origin, "destination": destination, "date": leg.date}
        found.append(Call("assistant", "search_direct_flight", asked))
    return found


def _flights(booked: Record, cabin: str, flights: list[dict[str, str]], payment_id: str) -> Call:
    arguments = {
        **{"reservation_id": booked["reservation_id"], "cabin": cabin},
        **{"flights": flights, "payment_id": payment_id},
    }
    return Call("assistant", "update_reservation_flights", arguments)


def _payments(rng: random.Random, owner: Record, price: int) -> tuple[str, list[dict[str, Any]]]:
    """How a customer pays for a booking, in words and as payments."""
    certificate, gift = people.method(owner, "certificate"), people.method(owner, "gift_card")
    card = people.card(owner)["id"]
    if certificate and rng.random() < 0.6:
        first = min(certificate["amount"], price)
        paid = [{"payment_id": certificate["id"], "amount": first}]
        if price > first:
            paid.append({"payment_id": card, "amount": price - first})
        return f"with your certificate first, and the rest with {_card(owner)}", paid
    if gift and gift["amount"] >= price:
        return "with your gift card", [{"payment_id": gift["id"], "amount": price}]
    return f"with {_card(owner)}", [{"payment_id": card, "amount": price}]


def _single(rng: random.Random, owner: Record, price: int) -> tuple[str, str]:
    """With what a customer pays for a change, in words and as an id."""
    gift = people.method(owner, "gift_card")
    if gift and gift["amount"] >= price and rng.random() < 0.7:
        return "your gift card", gift["id"]
    return _card(owner), people.card(owner)["id"]


def _card(owner: Record) -> str:
    return f"the credit card that ends in {people.card(owner)['last_four']}"


def _city(code: str) -> str:
    return f"{AIRPORTS[code]} ({code})"


def _said(cabin: str) -> str:
    return cabin.replace("_", " ")


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'s' * (number != 1)}"
