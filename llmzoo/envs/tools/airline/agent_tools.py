"""What the agent can do with the airline's records. A tool gets the records and returns the new ones and a result.

Names, arguments, fields and effects are those of tau2-bench's tools.py, which checks the prices and the seats of
a call and not whether the policy allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date as Day
from datetime import timedelta
from typing import Any

from llmzoo.envs.tools import calculator
from llmzoo.envs.tools.airline.database import (
    AIRPORTS,
    BAG_PRICE,
    CABINS,
    INSURANCE_PRICE,
    NOW,
    AirlineDatabase,
)
from llmzoo.envs.tools.service.tables import Record
from llmzoo.envs.tools.service.tools import Side, make_service_tools, public_functions
from llmzoo.envs.tools.toolbox import Toolbox, ToolError

Result = tuple[AirlineDatabase, Any]
Objects = Sequence[Mapping[str, Any]]

_NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
_NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
MAX_PAYMENTS = 200  # of a reservation that is cancelled, since cancelling it again turns all of them back again
_ARITHMETIC = frozenset("0123456789+-*/(). ")


def book_reservation(
    data: AirlineDatabase,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: str,
    cabin: str,
    flights: list[dict[str, Any]],
    passengers: list[dict[str, Any]],
    payment_methods: list[dict[str, Any]],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: str,
) -> Result:
    """Book a reservation. The payments must add up to the price: flights, 30 for each insured passenger, 50 for
    each bag that is not free.

    user_id: who books.
    origin: airport code.
    destination: airport code.
    flight_type: "one_way" or "round_trip".
    cabin: "basic_economy", "economy" or "business".
    flights: [{"flight_number": ..., "date": "YYYY-MM-DD"}], in the order in which they are flown.
    passengers: [{"first_name": ..., "last_name": ..., "dob": "YYYY-MM-DD"}].
    payment_methods: [{"payment_id": ..., "amount": ...}], with ids of the user's profile.
    total_baggages: all checked bags.
    nonfree_baggages: those that are paid.
    insurance: "yes" or "no".
    """
    user = data.find_record("users", user_id)
    _check_choice("flight_type", flight_type, ("one_way", "round_trip"))
    _check_choice("cabin", cabin, CABINS)
    _check_choice("insurance", insurance, ("yes", "no"))
    people, payments = _parse_passengers(passengers), _parse_payments(payment_methods)
    id = next((each for each in _NEW_RESERVATIONS if each not in data.reservations), None)
    if id is None:
        raise ToolError("too many reservations were made in this call")
    price = BAG_PRICE * nonfree_baggages
    price += INSURANCE_PRICE * len(people) if insurance == "yes" else 0
    booked, after = [], data
    for number, date in _parse_flights(flights):
        flight = after.find_record("flights", number)
        status = data.bookable_status(data.find_record("flights", number), date, cabin, len(people))
        booked.append(_make_leg(flight, date, status["prices"][cabin]))
        price += status["prices"][cabin] * len(people)
        seats = after.status_on(flight, date)["available_seats"]
        left = {**seats, cabin: seats[cabin] - len(people)}
        dates = {**flight["dates"], date: {**status, "available_seats": left}}
        after = after.put("flights", flight["flight_number"], dates=dates)
    for payment in payments:
        balance = _payment_method(user, payment["payment_id"]).get("amount", payment["amount"])
        if balance < payment["amount"]:
            raise ToolError(f"there is too little left on {payment['payment_id']}")
    if (paid := sum(payment["amount"] for payment in payments)) != price:
        raise ToolError(f"the payments add up to {paid}, but the price is {price}")
    methods = dict(user["payment_methods"])
    for payment in payments:
        _deduct_payment(methods, payment)
    reservation = {
        **{"reservation_id": id, "user_id": user["user_id"], "origin": origin},
        **{"destination": destination, "flight_type": flight_type, "cabin": cabin},
        **{"flights": booked, "passengers": people, "payment_history": payments},
        **{"created_at": NOW, "total_baggages": total_baggages},
        **{"nonfree_baggages": nonfree_baggages, "insurance": insurance, "status": None},
    }
    owned = [*user["reservations"], id]
    after = after.put("users", user["user_id"], payment_methods=methods, reservations=owned)
    return after.put("reservations", id, **reservation), reservation


def calculate(data: AirlineDatabase, expression: str) -> Result:
    """Work out an expression of numbers, + - * / and parentheses, to two decimals.

    expression: such as "3 * (120 + 30)".
    """
    if not _ARITHMETIC.issuperset(expression):
        raise ToolError("an expression has numbers, + - * /, points, parentheses and spaces only")
    try:
        return data, str(round(float(calculator.evaluate(expression)), 2))
    except (calculator.CalculationError, OverflowError) as error:
        raise ToolError(str(error)) from error


def cancel_reservation(data: AirlineDatabase, reservation_id: str) -> Result:
    """Cancel a whole reservation. What was paid goes back to where it came from.

    reservation_id: such as "ZFA04Y".
    """
    reservation = data.find_record("reservations", reservation_id)
    history = reservation["payment_history"]
    if len(history) > MAX_PAYMENTS:
        raise ToolError(f"{reservation_id} has too many payments")
    refunds = [{**payment, "amount": -payment["amount"]} for payment in history]
    return _update_reservation(
        data, reservation, payment_history=[*history, *refunds], status="cancelled"
    )


def get_flight_status(data: AirlineDatabase, flight_number: str, date: str) -> Result:
    """Look up whether a flight is available, on time, delayed, flying, landed or cancelled on a date.

    flight_number: such as "HAT001".
    date: YYYY-MM-DD.
    """
    return data, data.status_on(data.find_record("flights", flight_number), date)["status"]


def get_reservation_details(data: AirlineDatabase, reservation_id: str) -> Result:
    """Show a reservation.

    reservation_id: such as "ZFA04Y".
    """
    return data, data.find_record("reservations", reservation_id)


def get_user_details(data: AirlineDatabase, user_id: str) -> Result:
    """Show a user's profile: payment methods, membership, saved passengers, reservations.

    user_id: such as "sara_doe_496".
    """
    return data, data.find_record("users", user_id)


def list_all_airports(data: AirlineDatabase) -> Result:
    """List the airports and their cities."""
    return data, [{"iata": code, "city": city} for code, city in AIRPORTS.items()]


def search_direct_flight(data: AirlineDatabase, origin: str, destination: str, date: str) -> Result:
    """List the flights without a stop that can be booked, with their seats and prices in each cabin.

    origin: airport code, such as "JFK".
    destination: airport code.
    date: YYYY-MM-DD.
    """
    return data, list(_bookable_flights(data, date, origin, destination))


def search_onestop_flight(
    data: AirlineDatabase, origin: str, destination: str, date: str
) -> Result:
    """List the pairs of flights with one stop that can be booked.

    origin: airport code, such as "JFK".
    destination: airport code.
    date: of the first flight, YYYY-MM-DD.
    """
    found: list[list[dict[str, Any]]] = []
    for first in _bookable_flights(data, date, origin, None):
        arrival = first["scheduled_arrival_time_est"]
        then = str(Day.fromisoformat(date) + timedelta(days=1)) if "+1" in arrival else date
        found.extend(
            [{**first, "date": date}, {**second, "date": then}]
            for second in _bookable_flights(data, then, first["destination"], destination)
            if second["scheduled_departure_time_est"] >= arrival
        )
    return data, found


def send_certificate(data: AirlineDatabase, user_id: str, amount: int) -> Result:
    """Send a user a travel certificate.

    user_id: the user.
    amount: dollars.
    """
    user = data.find_record("users", user_id)
    methods = user["payment_methods"]
    id = next((each for each in _NEW_CERTIFICATES if each not in methods), None)
    if id is None:
        raise ToolError("too many certificates were sent in this call")
    new = {"source": "certificate", "id": id, "amount": amount}
    after = data.put("users", user["user_id"], payment_methods={**methods, id: new})
    return after, f"{id} of {amount} dollars was sent to {user['user_id']}."


def transfer_to_human_agents(data: AirlineDatabase, summary: str) -> Result:
    """Hand the customer over to a human colleague. This ends the call.

    summary: what the customer wants and what was done.
    """
    return data, "The customer is handed over."


def update_reservation_baggages(
    data: AirlineDatabase,
    reservation_id: str,
    total_baggages: int,
    nonfree_baggages: int,
    payment_id: str,
) -> Result:
    """Change the number of checked bags. Each further bag that is not free costs 50 dollars.

    reservation_id: such as "ZFA04Y".
    total_baggages: all checked bags after the change.
    nonfree_baggages: those that are paid, after the change.
    payment_id: a gift card or credit card of the user's profile.
    """
    reservation = data.find_record("reservations", reservation_id)
    further = max(0, nonfree_baggages - reservation["nonfree_baggages"])
    return _update_reservation(
        *_charge_reservation(data, reservation, payment_id, BAG_PRICE * further),
        total_baggages=total_baggages,
        nonfree_baggages=nonfree_baggages,
    )


def update_reservation_flights(
    data: AirlineDatabase,
    reservation_id: str,
    cabin: str,
    flights: list[dict[str, Any]],
    payment_id: str,
) -> Result:
    """Change a reservation's flights or cabin; the difference in price is charged or refunded. Flights that stay in
    the same cabin keep their price.

    reservation_id: such as "ZFA04Y".
    cabin: of the whole reservation after the change.
    flights: all flights after the change, those that stay too: [{"flight_number": ..., "date": "YYYY-MM-DD"}].
    payment_id: a gift card or credit card of the user's profile.
    """
    _check_choice("cabin", cabin, CABINS)
    reservation = data.find_record("reservations", reservation_id)
    people, legs = len(reservation["passengers"]), []
    kept = reservation["flights"] if cabin == reservation["cabin"] else []
    for number, date in _parse_flights(flights):
        flight = data.find_record("flights", number)
        name = flight["flight_number"]
        leg = next((e for e in kept if (e["flight_number"], e["date"]) == (name, date)), None)
        if leg is None:
            status = data.bookable_status(flight, date, cabin, people)
            leg = _make_leg(flight, date, status["prices"][cabin])
        legs.append(leg)
    more = sum(e["price"] for e in legs) - sum(e["price"] for e in reservation["flights"])
    charged = _charge_reservation(data, reservation, payment_id, more * people)
    return _update_reservation(*charged, flights=legs, cabin=cabin)


def update_reservation_passengers(
    data: AirlineDatabase, reservation_id: str, passengers: list[dict[str, Any]]
) -> Result:
    """Change who flies; the number of passengers stays.

    reservation_id: such as "ZFA04Y".
    passengers: all of them after the change: [{"first_name": ..., "last_name": ..., "dob": "YYYY-MM-DD"}].
    """
    people = _parse_passengers(passengers)
    reservation = data.find_record("reservations", reservation_id)
    if len(people) != len(reservation["passengers"]):
        raise ToolError("the number of passengers cannot change")
    return _update_reservation(data, reservation, passengers=people)


def _update_reservation(data: AirlineDatabase, reservation: Record, **fields: Any) -> Result:
    id = reservation["reservation_id"]
    after = data.put("reservations", id, **fields)
    return after, after.reservations[id]


def _charge_reservation(
    data: AirlineDatabase, reservation: Record, payment_id: str, price: int
) -> tuple[AirlineDatabase, Record]:
    """The records after a charge, or a refund if the price is negative, and the reservation's."""
    user = data.find_record("users", reservation["user_id"])
    method = _payment_method(user, payment_id)
    if method["source"] == "certificate":
        raise ToolError("a certificate cannot pay for a change")
    if method.get("amount", price) < price:
        raise ToolError(f"there is too little left on {payment_id}")
    payment = {"payment_id": payment_id, "amount": price}
    methods = dict(user["payment_methods"])
    _deduct_payment(methods, payment)
    after = data.put("users", user["user_id"], payment_methods=methods)
    history = [*reservation["payment_history"], *([payment] if price else [])]
    id = reservation["reservation_id"]
    after = after.put("reservations", id, payment_history=history)
    return after, after.reservations[id]


def _deduct_payment(methods: dict[str, Any], payment: Record) -> None:
    """Take a payment from the methods: a gift card has less, a certificate is used up."""
    id = payment["payment_id"]
    method = methods.get(id)
    if method is None:
        raise ToolError(f"{id} can be used once only")
    if method["source"] == "gift_card" and payment["amount"]:
        methods[id] = {**method, "amount": method["amount"] - payment["amount"]}
    elif method["source"] == "certificate":
        del methods[id]


def _payment_method(user: Record, payment_id: str) -> Record:
    found: Record | None = user["payment_methods"].get(payment_id)
    if found is None:
        raise ToolError(f"the user has no payment method {payment_id!r:.60}")
    return found


def _bookable_flights(
    data: AirlineDatabase, date: str, origin: str, destination: str | None
) -> Iterable[dict[str, Any]]:
    """The flights from an airport, to one or to any, that can be booked on a date."""
    for flight in data.flights.values():
        status = flight["dates"].get(date)
        if (
            flight["origin"] == origin
            and destination in (None, flight["destination"])
            and status is not None
            and status["status"] == "available"
        ):
            shown = {name: value for name, value in flight.items() if name != "dates"}
            yield {**shown, **status}


def _make_leg(flight: Record, date: str, price: int) -> dict[str, Any]:
    names = ("flight_number", "origin", "destination")
    return {**{name: flight[name] for name in names}, "date": date, "price": price}


def _parse_flights(given: Objects) -> list[tuple[str, str]]:
    return [
        (each["flight_number"], each["date"])
        for each in _text_fields(given, "flight_number", "date")
    ]


def _parse_passengers(given: Objects) -> list[dict[str, str]]:
    return _text_fields(given, "first_name", "last_name", "dob")


def _parse_payments(given: Objects) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for payment, each in zip(_text_fields(given, "payment_id"), given, strict=True):
        amount = each.get("amount")
        number = amount if isinstance(amount, int | float) else None
        if number is None or isinstance(amount, bool) or number != number // 1:
            raise ToolError("a payment needs an amount, a whole number of dollars")
        found.append({**payment, "amount": int(number)})
    return found


def _text_fields(given: Objects, *names: str) -> list[dict[str, str]]:
    """These fields of each object; raises ``ToolError`` if one is not a text. Others are left out."""
    for each in given:
        for name in names:
            if not isinstance(each.get(name), str):
                raise ToolError(f"each of these objects needs {', '.join(names)} as texts")
    return [{name: each[name] for name in names} for each in given]


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ToolError(f"{name} must be one of {', '.join(known)}")


_FUNCTIONS = public_functions(globals())
WRITE_TOOLS = frozenset(
    {"book_reservation", "cancel_reservation", "send_certificate"}
    | {name for name in _FUNCTIONS if name.startswith("update_")}
)
READ_TOOLS = frozenset(name for name in _FUNCTIONS if name.startswith(("get_", "search_")))
TOOLS: Mapping[Side, Toolbox] = {
    "assistant": make_service_tools(_FUNCTIONS.values(), max_result_chars=12_000),
    "user": Toolbox([]),
}
