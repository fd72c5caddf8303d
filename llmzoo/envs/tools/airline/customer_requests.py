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
    total_paid,
)
from llmzoo.envs.tools.airline.flight_network import UPCOMING, Leg, network
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tables import Record

COST = "Before you end the call, ask how many dollars you have paid for this reservation in all."
IF_REFUSED = "If this cannot be done, leave everything as it is."
_HEALTH = "you are ill and your doctor tells you not to fly"
_STORM = "a storm is forecast where you want to go"
_PLANS = "your plans have changed"


@dataclass(frozen=True, eq=False)
class CustomerRequest:
    """A request. reason: why the customer calls. details: what the customer says when asked. calls: the
    reference's, without looking up the user. figure: what the agent must say. kind: which of the intent's cases
    it is. booked: the reservation that it is about."""

    reason: str
    details: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    figure: int
    kind: str
    reservation: Record | None = None
    facts: tuple[Any, ...] = field(default=())


RequestMaker = Callable[
    [random.Random, Record], CustomerRequest | None
]  # None: these draws do not fit together


def booking(rng: random.Random, owner: Record) -> CustomerRequest | None:
    route = rng.choice(sorted(network().routes))
    cabin, number = rng.choice(CABINS), rng.choice((1, 1, 2, 3))
    riders = people.make_party(rng, owner, number)
    rule = rng.choice(tuple(_RULES))
    days = sorted(rng.sample(range(len(UPCOMING)), rng.choice((1, 2))))
    legs: list[Leg] = []
    for day, way in zip(days, (route, route[::-1]), strict=False):
        leg = _find_flight(rule, way, UPCOMING[day], cabin, len(riders))
        if leg is None:
            return None
        legs.append(leg)
    insured, bags = rng.random() < 0.4, rng.randrange(len(riders) * 2 + 1)
    paid_bags = max(0, bags - free_bags(owner["membership"], cabin, len(riders)))
    price = sum(network().price(leg, cabin, rng) for leg in legs) + INSURANCE_PRICE * insured
    price = price * len(riders) + BAG_PRICE * paid_bags
    how, payments = _booking_payments(rng, owner, price)
    arguments = {
        **{"user_id": owner["user_id"], "origin": route[0], "destination": route[1]},
        **{"flight_type": "one_way" if len(legs) == 1 else "round_trip", "cabin": cabin},
        "flights": [leg.info() for leg in legs],
        **{"passengers": riders, "payment_methods": payments, "total_baggages": bags},
        **{"nonfree_baggages": paid_bags, "insurance": "yes" if insured else "no"},
    }
    ways = "one way" if len(legs) == 1 else f"and back on {legs[1].date}"
    trip = f"from {_city(route[0])} to {_city(route[1])} on {legs[0].date}, {ways}"
    named = " and ".join(f"{people.full_name(each)}, born {each['dob']}" for each in riders)
    each_way = "" if len(legs) == 1 else " each way"
    return CustomerRequest(
        f"You want to book a trip {trip}.",
        (
            f"You want the direct flight{each_way} that {_RULES[rule]}, in the cabin {_cabin_name(cabin)}.",
            f"The passengers are {named}, in this order.",
            f"You have {_pluralize(bags, 'checked bag')} in all.",
            f"You {'want' if insured else 'do not want'} travel insurance.",
            f"You pay {how}.",
            "Before you end the call, ask how many dollars the whole booking costs.",
        ),
        (*_search_calls(legs), ToolCall("book_reservation", arguments)),
        price,
        f"booked {rule}",
        facts=(route, legs, cabin, len(riders), bags, insured, [p["amount"] for p in payments]),
    )


def cancellation(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """Allowed within 24 hours, in business, for a flight that the airline has cancelled, and for health or
    weather with insurance."""
    kind = rng.choice(("recent", "business", "airline", "insured", "insured", *_NOT_CANCELLED))
    cabin = "business" if kind == "business" else rng.choice(CABINS[:2])
    legs = _sample_trip(rng, cabin, cancelled=kind == "airline")
    if legs is None:
        return None
    insured = kind in ("insured", "insured, other plans")
    reservation = people.make_reservation(
        rng, owner, legs, cabin, insured=insured, recent=kind == "recent"
    )
    why = rng.choice((_HEALTH, _STORM)) if kind in ("insured", "uninsured, ill") else _PLANS
    why = "the airline has cancelled your flight" if kind == "airline" else why
    allowed = kind not in _NOT_CANCELLED
    cancel = ToolCall("cancel_reservation", {"reservation_id": reservation["reservation_id"]})
    return CustomerRequest(
        "You want to cancel a reservation and get your money back.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"The reason is that {why}.",
            "Before you end the call, ask how many dollars are refunded."
            if allowed
            else f"{IF_REFUSED} {COST}",
        ),
        (cancel,) if allowed else (),
        total_paid(reservation),
        kind,
        reservation,
        (why,),
    )


def change(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """The last flight on another day; basic economy cannot be changed."""
    allowed = rng.random() < 0.65
    cabin = rng.choice(CABINS[1:]) if allowed else CABINS[0]
    legs = _sample_trip(rng, cabin)
    if legs is None:
        return None
    reservation = people.make_reservation(rng, owner, legs, cabin, insured=rng.random() < 0.3)
    number, rule = len(reservation["passengers"]), rng.choice(tuple(_RULES))
    after = [date for date in UPCOMING if date > legs[0].date and date != legs[-1].date]
    if not after:
        return None
    date = rng.choice(after)
    new = _find_flight(rule, network().ends(legs[-1]), date, cabin, number)
    if new is None:
        return None
    more = network().price(new, cabin, rng) - reservation["flights"][-1]["price"]
    how, source = _change_payment(rng, owner, more * number)
    if more == 0:
        return None
    flights = [leg.info() for leg in (*legs[:-1], new)]
    update = _update_flights_call(reservation, cabin, flights, source)
    calls = (*_search_calls([new]), update) if allowed else ()
    origin, destination = network().ends(new)
    return CustomerRequest(
        f"You want to move your flight from {_city(origin)} to {_city(destination)} to another day.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"You want to fly on {date}, with the direct flight that {_RULES[rule]}.",
            f"If there is a difference in price, use {how}.",
            "Before you end the call, ask how many dollars the difference in price is."
            if allowed
            else f"{IF_REFUSED} {COST}",
        ),
        calls,
        abs(more) * number if allowed else total_paid(reservation),
        "moved" if allowed else "basic economy",
        reservation,
        (new, source == people.credit_card(owner)["id"]),
    )


def cabin(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """Every reservation can have another cabin, for all of its flights."""
    old, new = rng.sample(CABINS, 2)
    legs = _sample_trip(rng, old)
    if legs is None:
        return None
    reservation = people.make_reservation(rng, owner, legs, old, insured=rng.random() < 0.3)
    number = len(reservation["passengers"])
    if any(network().status(leg)["available_seats"][new] < number for leg in legs):
        return None
    more = sum(network().price(leg, new, rng) for leg in legs)
    more = (more - sum(flight["price"] for flight in reservation["flights"])) * number
    how, source = _change_payment(rng, owner, more)
    if more == 0:
        return None
    update = _update_flights_call(reservation, new, [leg.info() for leg in legs], source)
    return CustomerRequest(
        "You want to fly in another cabin on all flights of a reservation.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"You want the cabin {_cabin_name(new)}, on the same flights.",
            f"If there is a difference in price, use {how}.",
            "Before you end the call, ask how many dollars the difference in price is.",
        ),
        (*_search_calls(legs), update),
        abs(more),
        "another cabin",
        reservation,
        (new, source == people.credit_card(owner)["id"]),
    )


def baggage(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """Bags can be added and not taken away."""
    reservation = _sample_reservation(rng, owner)
    if reservation is None:
        return None
    allowed, count = rng.random() < 0.7, rng.randrange(1, 4)
    old = reservation["total_baggages"]
    if not allowed and not old:
        return None
    count = count if allowed else 1
    free = free_bags(owner["membership"], reservation["cabin"], len(reservation["passengers"]))
    paid_bags = max(0, old + count - free)
    fee = BAG_PRICE * (paid_bags - reservation["nonfree_baggages"])
    arguments = {
        **{"reservation_id": reservation["reservation_id"], "total_baggages": old + count},
        **{"nonfree_baggages": paid_bags, "payment_id": people.credit_card(owner)["id"]},
    }
    add = ToolCall("update_reservation_baggages", arguments)
    bags = _pluralize(count, "checked bag")
    return CustomerRequest(
        f"You want to {'add' if allowed else 'take away'} {bags} {'to' if allowed else 'from'} "
        "a reservation.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"You pay with {_card_text(owner)}."
            if allowed
            else f"You want the money for the bag back on {_card_text(owner)}.",
            COST.replace("paid", "then paid") if allowed else f"{IF_REFUSED} {COST}",
        ),
        (add,) if allowed else (),
        total_paid(reservation) + (fee if allowed else 0),
        "added" if allowed else "taken away",
        reservation,
        (count,),
    )


def passengers(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """Another person can fly, but no more and no fewer people."""
    reservation = _sample_reservation(rng, owner)
    if reservation is None:
        return None
    allowed, new = rng.random() < 0.6, people.make_person(rng)
    named = f"{people.full_name(new)}, born {new['dob']}"
    old = reservation["passengers"][-1]
    riders = [*reservation["passengers"][:-1], new]
    arguments = {"reservation_id": reservation["reservation_id"], "passengers": riders}
    swap = ToolCall("update_reservation_passengers", arguments)
    return CustomerRequest(
        "You want another passenger on a reservation.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"The passenger {people.full_name(old)} does not fly, and {named}, flies instead."
            if allowed
            else f"You want {named}, as a further passenger beside all those who fly.",
            COST if allowed else f"{IF_REFUSED} {COST}",
        ),
        (swap,) if allowed else (),
        total_paid(reservation),
        "another" if allowed else "one more",
        reservation,
    )


def insurance(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """It cannot be added later."""
    reservation = _sample_reservation(rng, owner, insured=False)
    if reservation is None:
        return None
    return CustomerRequest(
        "You want to add travel insurance to a reservation.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"You pay with {_card_text(owner)}.",
            f"{IF_REFUSED} {COST}",
        ),
        (),
        total_paid(reservation),
        "insurance",
        reservation,
    )


def compensation(rng: random.Random, owner: Record) -> CustomerRequest | None:
    """A certificate for a delayed or cancelled flight, for members, the insured and business."""
    claim = rng.choice(("delayed", "cancelled"))
    kind = rng.choice(("due", "due", "not entitled", "not so"))
    status = rng.choice(("landed", "on time")) if kind == "not so" else claim
    leg = rng.choice(network().by_status[status])
    cabin, insured = rng.choice(CABINS), rng.random() < 0.3
    entitled = owner["membership"] != "regular" or insured or cabin == "business"
    if kind != "not so" and entitled != (kind == "due"):
        return None
    reservation = people.make_reservation(rng, owner, [leg], cabin, insured=insured)
    amount = (50 if claim == "delayed" else 100) * len(reservation["passengers"])
    look = ToolCall("get_flight_status", {"flight_number": leg.number, "date": leg.date})
    send = ToolCall("send_certificate", {"user_id": owner["user_id"], "amount": amount})
    origin, destination = network().ends(leg)
    return CustomerRequest(
        f"You want a compensation, since your flight from {_city(origin)} to {_city(destination)} was "
        f"{claim}.",
        (
            f"The reservation is {reservation['reservation_id']}.",
            f"The reason is that the flight on {leg.date} was {claim}.",
            f"{IF_REFUSED} {COST}",
        ),
        (look, send) if kind == "due" else (look,),
        total_paid(reservation),
        kind,
        reservation,
        (claim,),
    )


REQUESTS: Mapping[str, tuple[RequestMaker, float]] = {  # and how often it is drawn
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


def _find_flight(
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
    return (min if rule == "first" else max)(legs, key=network().departure_time)


def _sample_trip(rng: random.Random, cabin: str, *, cancelled: bool = False) -> list[Leg] | None:
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


def _sample_reservation(
    rng: random.Random, owner: Record, insured: bool | None = None
) -> Record | None:
    cabin = rng.choice(CABINS)
    legs = _sample_trip(rng, cabin)
    insured = rng.random() < 0.3 if insured is None else insured
    return (
        None if legs is None else people.make_reservation(rng, owner, legs, cabin, insured=insured)
    )


def _search_calls(legs: list[Leg]) -> list[ToolCall]:
    calls = []
    for leg in legs:
        origin, destination = network().ends(leg)
        arguments = {"origin": origin, "destination": destination, "date": leg.date}
        calls.append(ToolCall("search_direct_flight", arguments))
    return calls


def _update_flights_call(
    reservation: Record, cabin: str, flights: list[dict[str, str]], payment_id: str
) -> ToolCall:
    arguments = {
        **{"reservation_id": reservation["reservation_id"], "cabin": cabin},
        **{"flights": flights, "payment_id": payment_id},
    }
    return ToolCall("update_reservation_flights", arguments)


def _booking_payments(
    rng: random.Random, owner: Record, price: int
) -> tuple[str, list[dict[str, Any]]]:
    """How a customer pays for a booking, in words and as payments."""
    certificate, gift = (
        people.payment_method(owner, "certificate"),
        people.payment_method(owner, "gift_card"),
    )
    card = people.credit_card(owner)["id"]
    if certificate and rng.random() < 0.6:
        first = min(certificate["amount"], price)
        paid = [{"payment_id": certificate["id"], "amount": first}]
        if price > first:
            paid.append({"payment_id": card, "amount": price - first})
        return f"with your certificate first, and the rest with {_card_text(owner)}", paid
    if gift and gift["amount"] >= price:
        return "with your gift card", [{"payment_id": gift["id"], "amount": price}]
    return f"with {_card_text(owner)}", [{"payment_id": card, "amount": price}]


def _change_payment(rng: random.Random, owner: Record, price: int) -> tuple[str, str]:
    """With what a customer pays for a change, in words and as an id."""
    gift = people.payment_method(owner, "gift_card")
    if gift and gift["amount"] >= price and rng.random() < 0.7:
        return "your gift card", gift["id"]
    return _card_text(owner), people.credit_card(owner)["id"]


def _card_text(owner: Record) -> str:
    return f"the credit card that ends in {people.credit_card(owner)['last_four']}"


def _city(code: str) -> str:
    return f"{AIRPORTS[code]} ({code})"


def _cabin_name(cabin: str) -> str:
    return cabin.replace("_", " ")


def _pluralize(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'s' * (number != 1)}"
