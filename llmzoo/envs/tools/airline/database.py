"""The airline's records: flights, users and reservations.

Nothing here is changed in place: an action makes a new :class:`AirlineDatabase`. Tables, fields and their values are
those of tau2-bench's airline domain (arXiv 2506.07982; its file data_model.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.tools.service.tables import Record, Tables, normalize_name
from llmzoo.envs.tools.toolbox import ToolError

NOW = "2024-05-15T15:00:00"
TODAY = NOW[:10]
CABINS = ("basic_economy", "economy", "business")
# checked bags that are free, for each passenger
FREE_BAGS: Mapping[str, Mapping[str, int]] = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 4},
}
BAG_PRICE = 50
INSURANCE_PRICE = 30  # for each passenger
AIRPORTS: Mapping[str, str] = {
    **{"SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago"},
    **{"DFW": "Dallas", "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami"},
    **{"BOS": "Boston", "PHX": "Phoenix", "IAH": "Houston", "LAS": "Las Vegas"},
    **{"MCO": "Orlando", "EWR": "Newark", "CLT": "Charlotte", "MSP": "Minneapolis"},
    **{"DTW": "Detroit", "PHL": "Philadelphia", "LGA": "LaGuardia"},
}


@dataclass(frozen=True, slots=True)
class AirlineDatabase(Tables):
    """The records, each table by id."""

    flights: Mapping[str, Record] = field(default_factory=dict)
    users: Mapping[str, Record] = field(default_factory=dict)
    reservations: Mapping[str, Record] = field(default_factory=dict)

    def find_record(self, table: str, id: str) -> Record:
        """A record whose id is this one, whatever its capitals and accents; raises ``ToolError``."""
        records: Mapping[str, Record] = getattr(self, table)
        if id not in records:
            normalized = normalize_name(id)
            id = next((each for each in records if normalize_name(each) == normalized), id)
        return self.lookup(table, id)

    def status_on(self, flight: Record, date: str) -> Record:
        """A flight's status on a date; raises ``ToolError``."""
        found: Record | None = flight["dates"].get(date)
        if found is None:
            raise ToolError(f"flight {flight['flight_number']} does not fly on {date!r:.40}")
        return found

    def bookable_status(self, flight: Record, date: str, cabin: str, passengers: int) -> Record:
        """A flight's status on a date on which so many can book this cabin; raises ``ToolError``."""
        status = self.status_on(flight, date)
        name = f"flight {flight['flight_number']} on {date}"
        if status["status"] != "available":
            raise ToolError(f"{name} cannot be booked: it is {status['status']}")
        if status["available_seats"][cabin] < passengers:
            raise ToolError(f"{name} has too few seats in {cabin}")
        return status


def free_bags(membership: str, cabin: str, passengers: int) -> int:
    return FREE_BAGS[membership][cabin] * passengers


def total_paid(reservation: Record) -> int:
    """What was paid for a reservation so far, less what was refunded, in dollars."""
    return sum(payment["amount"] for payment in reservation["payment_history"])


def changed_fields(
    before: AirlineDatabase, after: AirlineDatabase
) -> dict[tuple[str, str, str], Any]:
    """The fields that differ, by table, id and name, and their values after."""
    found: dict[tuple[str, str, str], Any] = {}
    for table in ("flights", "users", "reservations"):
        old, new = getattr(before, table), getattr(after, table)
        for id, record in new.items() if old is not new else ():
            was = old.get(id, {})
            if record is not was:
                differ = (n for n, v in record.items() if n not in was or was[n] != v)
                found |= {(table, id, name): record[name] for name in differ}
    return found
