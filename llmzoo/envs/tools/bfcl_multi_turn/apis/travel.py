"""Flights: prices, bookings, credit cards and insurance of one traveller."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding, figures

TODAY = date(2024, 9, 1)  # for a traveller's age; BFCL takes the day of the run

_SEED = 141053
_CLASSES = {"economy": 1, "business": 2, "first": 5}  # and how many times the price of economy
_DAY = "%Y-%m-%d"


@lru_cache(maxsize=1)
def _fares() -> Mapping[tuple[str, str], int]:
    """The price in economy of each route, from one airport to another."""
    rows = figures()["flight_costs"]
    return {(origin, goal): fare for origin, fares in rows for goal, fare in fares.items()}


class TravelAPI(API):
    about = "A travel agency: flights, bookings, credit cards and a budget."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self._random = random.Random(config.get("random_seed", _SEED))
        self.credit_card_list = config.get("credit_card_list", {})
        self.booking_record = config.get("booking_record", {})
        self.access_token = config.get("access_token")
        self.token_type = config.get("token_type")
        self.token_expires_in = config.get("token_expires_in")
        self.token_scope = config.get("token_scope")
        self.user_first_name = config.get("user_first_name")
        self.user_last_name = config.get("user_last_name")
        self.budget_limit = config.get("budget_limit")
        if padding is not None:
            for name, entries in (
                ("CREDIT_CARD_EXTENSION", self.credit_card_list),
                ("BOOKING_RECORD_EXTENSION", self.booking_record),
            ):
                for key, entry in padding[name].items():
                    entries.setdefault(key, copy.deepcopy(entry))

    def _token_error(self, access_token: str) -> dict[str, str] | None:
        if self.token_expires_in == 0:
            return {"error": "Token expired"}
        if access_token != self.access_token:
            return {"error": "Invalid access token"}
        return None

    def _random_number(self, digits: int) -> str:
        """A number of so many digits."""
        return str(self._random.randint(10 ** (digits - 1), 10**digits - 1))

    def authenticate_travel(
        self,
        client_id: str,
        client_secret: str,
        refresh_token: str,
        grant_type: str,
        user_first_name: str,
        user_last_name: str,
    ) -> Any:
        """Log in to the agency. It returns the access token that other calls need.

        client_id: Id of the client application.
        client_secret: Secret of the client application.
        refresh_token: Refresh token of an earlier login.
        grant_type: "read_write", "read" or "write".
        user_first_name: First name of the user.
        user_last_name: Last name of the user.
        """
        self.token_expires_in = 2
        self.access_token = self._random_number(6)
        self.token_type = "Bearer"
        self.token_scope = grant_type
        self.user_first_name = user_first_name
        self.user_last_name = user_last_name
        return {
            "expires_in": 2,
            "access_token": self.access_token,
            "token_type": "Bearer",
            "scope": grant_type,
        }

    def travel_get_login_status(self) -> Any:
        """Tell whether the user is logged in to the agency."""
        return {"status": self.token_expires_in is not None and self.token_expires_in != 0}

    def get_budget_fiscal_year(
        self, lastModifiedAfter: str | None = None, includeRemoved: str | None = None
    ) -> Any:
        """Tell the fiscal year of the budget.

        lastModifiedAfter: Only years that were changed after this time, as YYYY-MM-DDTHH:MM:SS in UTC.
        includeRemoved: "true" for removed years too.
        """
        return {"budget_fiscal_year": "2018"}

    def register_credit_card(
        self,
        access_token: str,
        card_number: str,
        expiration_date: str,
        cardholder_name: str,
        card_verification_number: int,
    ) -> Any:
        """Register a credit card. It returns the card's id.

        access_token: The token of the login.
        card_number: Number of the card.
        expiration_date: Until when it is valid, as MM/YYYY.
        cardholder_name: Name of its holder.
        card_verification_number: Its verification number.
        """
        if self.token_expires_in is None:
            return {"error": "Token not initialized"}
        if error := self._token_error(access_token):
            return error
        if card_number in self.credit_card_list:
            return {"error": "Card already registered"}
        card_id = self._random_number(12)
        self.credit_card_list[card_id] = {
            "card_number": card_number,
            "expiration_date": expiration_date,
            "cardholder_name": cardholder_name,
            "card_verification_number": card_verification_number,
            "balance": self._random.randint(10000, 99999),
        }
        return {"card_id": card_id}

    def get_flight_cost(
        self, travel_from: str, travel_to: str, travel_date: str, travel_class: str
    ) -> Any:
        """Tell what a flight costs in dollars.

        travel_from: Three-letter code of the airport of departure.
        travel_to: Three-letter code of the airport of arrival.
        travel_date: Day of the flight, as YYYY-MM-DD.
        travel_class: "economy", "business" or "first".
        """
        cost, factor = self._cost(travel_from, travel_to, travel_date, travel_class)
        if self._padding is None:
            return {"travel_cost_list": [cost]}
        return {"travel_cost_list": [float(fare * factor) for fare in _fares().values()]}

    def _cost(
        self, travel_from: str, travel_to: str, travel_date: str, travel_class: str
    ) -> tuple[float, int]:
        """What a flight costs, and by how much its base price was multiplied; raises ``ValueError``."""
        fares = _fares()
        if (travel_from, travel_to) not in fares:
            raise ValueError("No available route for the given airports.")
        if travel_class not in list(_CLASSES):
            raise ValueError("Invalid travel class. Options are: economy, business, first.")
        digits = sum(int(each) for each in travel_date if each.isdigit())
        factor = _CLASSES[travel_class] * (2 if digits % 2 == 0 else 1)
        return float(fares[travel_from, travel_to] * factor), factor

    def get_credit_card_balance(self, access_token: str, card_id: str) -> Any:
        """Tell the balance of a registered credit card.

        access_token: The token of the login.
        card_id: Id of the card.
        """
        if error := self._token_error(access_token):
            return error
        if card_id not in self.credit_card_list:
            known = list(self.credit_card_list)
            return {"error": f"Card not registered. Here are a list of card_id's: {known}"}
        return {"card_balance": self.credit_card_list[card_id]["balance"]}

    def book_flight(
        self,
        access_token: str,
        card_id: str,
        travel_date: str,
        travel_from: str,
        travel_to: str,
        travel_class: str,
    ) -> Any:
        """Book a flight and pay it by a registered credit card.

        access_token: The token of the login.
        card_id: Id of the card.
        travel_date: Day of the flight, as YYYY-MM-DD.
        travel_from: Three-letter code of the airport of departure.
        travel_to: Three-letter code of the airport of arrival.
        travel_class: "economy", "business" or "first".
        """
        flight = (travel_from, travel_to, travel_date, travel_class)
        wrong = self._token_error(access_token) or self._booking_error(card_id, *flight)
        if wrong:
            return {"booking_status": False, **wrong}
        try:
            cost, _ = self._cost(*flight)
        except ValueError as error:
            return {"booking_status": False, "error": str(error)}
        card = self.credit_card_list[card_id]
        if card["balance"] < cost:
            return {"booking_status": False, "error": "Insufficient funds"}
        if self.budget_limit is not None and card["balance"] < self.budget_limit:
            return {"booking_status": False, "error": "Balance is less than budget limit"}
        card["balance"] -= cost
        booking, transaction = self._random_number(7), self._random_number(8)
        self.booking_record[booking] = {
            "card_id": card_id,
            "travel_date": travel_date,
            "travel_from": travel_from,
            "travel_to": travel_to,
            "travel_class": travel_class,
            "travel_cost": cost,
            "transaction_id": transaction,
        }
        return {
            "booking_id": booking,
            "transaction_id": transaction,
            "booking_status": True,
            "booking_history": {} if self._padding is None else self.booking_record,
        }

    def _booking_error(
        self, card_id: str, travel_from: str, travel_to: str, travel_date: str, travel_class: str
    ) -> dict[str, str] | None:
        """What is wrong with a booking by its arguments alone; None if nothing."""
        if card_id not in self.credit_card_list:
            return {"error": "Card not registered"}
        if "balance" not in self.credit_card_list[card_id]:
            return {"error": "Balance not found"}
        if travel_from not in figures()["airports"]:
            return {"error": f"Invalid departure airport code: {travel_from}"}
        if travel_to not in figures()["airports"]:
            return {"error": f"Invalid destination airport code: {travel_to}"}
        try:
            datetime.strptime(travel_date, _DAY)
        except ValueError:
            return {"error": "Invalid date format. Use YYYY-MM-DD."}
        if travel_class not in _CLASSES:
            known = ", ".join(map(repr, _CLASSES))
            return {"error": f"Invalid travel class. Must be one of {{{known}}}"}
        return None

    def retrieve_invoice(
        self, access_token: str, booking_id: str | None = None, insurance_id: str | None = None
    ) -> Any:
        """Show the invoice of a booking.

        access_token: The token of the login.
        booking_id: Id of the booking.
        insurance_id: Id of the insurance.
        """
        if error := self._token_error(access_token):
            return error
        if booking_id not in self.booking_record:
            return {"error": "Booking not found"}
        booking = self.booking_record[booking_id]
        shown_fields = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost")
        lines = {name: booking[name] for name in (*shown_fields, "transaction_id")}
        return {"invoice": {"booking_id": booking_id, **lines}}

    def get_booking_history(self, access_token: str) -> Any:
        """Show all bookings of the user.

        access_token: The token of the login.
        """
        return self._token_error(access_token) or {"booking_history": self.booking_record}

    def list_all_airports(self) -> Any:
        """List the codes of all airports."""
        return figures()["airports"]

    def cancel_booking(self, access_token: str, booking_id: str) -> Any:
        """Cancel a booking. The card gets the money back.

        access_token: The token of the login.
        booking_id: Id of the booking.
        """
        if error := self._token_error(access_token):
            return {"cancel_status": False, **error}
        if booking_id not in self.booking_record:
            return {"cancel_status": False, "error": "Booking not found"}
        booking = self.booking_record[booking_id]
        self.credit_card_list[booking["card_id"]]["balance"] += booking["travel_cost"]
        del self.booking_record[booking_id]
        return {"cancel_status": True}

    def compute_exchange_rate(self, base_currency: str, target_currency: str, value: float) -> Any:
        """Convert an amount from dollars to another currency, or from another currency to dollars.

        base_currency: Currency of the amount: USD, RMB, EUR, JPY, GBP, CAD, AUD, INR, RUB, BRL or MXN.
        target_currency: The other currency, one of the same.
        value: The amount.
        """
        for currency, rate in figures()["dollar_rates"].items():
            if (base_currency, target_currency) == ("USD", currency):
                return {"exchanged_value": float(value * rate)}
            if (base_currency, target_currency) == (currency, "USD"):
                return {"exchanged_value": round(value / rate, 2)}
        raise ValueError("No available exchange rate for the given currencies.")

    def verify_traveler_information(
        self, first_name: str, last_name: str, date_of_birth: str, passport_number: str
    ) -> Any:
        """Check whether a traveller may fly: the user of the login, of age, with a passport of the United States.

        first_name: First name of the traveller.
        last_name: Last name of the traveller.
        date_of_birth: Day of birth, as YYYY-MM-DD.
        passport_number: Number of the passport.
        """
        wrong = self._traveller_error(first_name, last_name, date_of_birth, passport_number)
        if wrong is None:
            return {"verification_status": True}
        return {"verification_status": False, "verification_failure": wrong}

    def _traveller_error(
        self, first_name: str, last_name: str, date_of_birth: str, passport_number: str
    ) -> str | None:
        if self.user_first_name != first_name or self.user_last_name != last_name:
            expected = f"Expected {self.user_first_name} {self.user_last_name}"
            got = f"got {first_name} {last_name}"
            return f"Cannot book flight information for another user.{expected}, {got}"
        try:
            birth = datetime.strptime(date_of_birth, _DAY)
        except ValueError:
            return "Invalid date of birth format. Please use YYYY-MM-DD."
        had_birthday = (TODAY.month, TODAY.day) >= (birth.month, birth.day)
        if TODAY.year - birth.year - (not had_birthday) < 18:
            return "Traveler must be at least 18 years old."
        if not passport_number.startswith("US"):
            return "Passport must be issued by the United States."
        return None

    def set_budget_limit(self, access_token: str, budget_limit: float) -> Any:
        """Set the budget of the user.

        access_token: The token of the login.
        budget_limit: The budget in dollars.
        """
        if error := self._token_error(access_token):
            return error
        self.budget_limit = float(budget_limit)
        return {"budget_limit": self.budget_limit}

    def get_nearest_airport_by_city(self, location: str) -> Any:
        """Look up the airport next to a city.

        location: Name of the city.
        """
        return {"nearest_airport": figures()["airport_of_city"].get(location, "Unknown")}

    def purchase_insurance(
        self,
        access_token: str,
        insurance_type: str,
        booking_id: str,
        insurance_cost: float,
        card_id: str,
    ) -> Any:
        """Insure a booking and pay it by a registered credit card.

        access_token: The token of the login.
        insurance_type: The kind of insurance.
        booking_id: Id of the booking.
        insurance_cost: What the insurance costs, in dollars.
        card_id: Id of the card.
        """
        wrong = self._token_error(access_token)
        if not wrong and self.budget_limit is not None and self.budget_limit < insurance_cost:
            wrong = {"error": "Exceeded budget limit"}
        if not wrong and booking_id not in self.booking_record:
            wrong = {"error": "Booking not found"}
        if not wrong and card_id not in self.credit_card_list:
            wrong = {"error": "Credit card not registered"}
        if wrong:
            return {"insurance_status": False, **wrong}
        self.credit_card_list[card_id]["balance"] -= insurance_cost
        return {"insurance_id": self._random_number(9), "insurance_status": True}

    def contact_customer_support(self, booking_id: str, message: str) -> Any:
        """Write to the agency's support about a booking.

        booking_id: Id of the booking.
        message: The text.
        """
        if booking_id not in self.booking_record:
            return {"error": "Booking not found"}
        return {"customer_support_message": "Your message has arrived. You will hear from us soon."}

    def get_all_credit_cards(self) -> Any:
        """Show all registered credit cards, by id."""
        return {"credit_card_list": self.credit_card_list}
