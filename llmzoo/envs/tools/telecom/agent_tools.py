"""What the service agent can do with the carrier's database. A tool gets the world and returns the new one and
a result.

Names, arguments, fields and effects are those of tau2-bench's tools.py.
"""

from __future__ import annotations

from typing import Any

from llmzoo.envs.tools.schemas import Number
from llmzoo.envs.tools.service.tables import Record, normalize_name
from llmzoo.envs.tools.service.tools import public_functions
from llmzoo.envs.tools.telecom.world import TODAY, World
from llmzoo.envs.tools.toolbox import ToolError

Result = tuple[World, Any]

# of the days around TODAY
_NEXT_BILL = {
    "period_start": "2025-03-01",
    "period_end": "2025-03-31",
    "issue_date": "2025-03-01",
    "due_date": "2025-03-15",
    "status": "Draft",
}
_CYCLE_END = "2025-02-28"
MAX_GB = 1_000_000  # of data to add at once


def get_customer_by_phone(world: World, phone_number: str) -> Result:
    """Find a customer by the number of the customer or of one of the customer's lines.

    phone_number: such as "555-010-0001".
    """
    return world, world.data.customer_by_number(phone_number)


def get_customer_by_id(world: World, customer_id: str) -> Result:
    """Find a customer by id.

    customer_id: such as "C1001".
    """
    return world, world.data.lookup("customers", customer_id)


def get_customer_by_name(world: World, full_name: str, dob: str) -> Result:
    """Find customers by name and date of birth.

    full_name: the whole name.
    dob: YYYY-MM-DD.
    """
    name = normalize_name(full_name)
    found = world.data.customers.values()
    return world, [
        c for c in found if normalize_name(c["full_name"]) == name and c["date_of_birth"] == dob
    ]


def get_details_by_id(world: World, id: str) -> Result:
    """Show a customer, line, device, bill or plan.

    id: it begins with C, L, D, B or P.
    """
    tables = {"L": "lines", "D": "devices", "B": "bills", "C": "customers", "P": "plans"}
    if id[:1] not in tables:
        raise ToolError(f"an id begins with C, L, D, B or P; got {id!r:.60}")
    return world, world.data.lookup(tables[id[0]], id)


def suspend_line(world: World, customer_id: str, line_id: str, reason: str) -> Result:
    """Suspend an active line, for 5 USD a month.

    customer_id: whose line it is.
    line_id: the line.
    reason: why.
    """
    line = world.data.line_of_customer(customer_id, line_id)
    if line["status"] != "Active":
        raise ToolError(f"only an active line can be suspended; {line_id} is {line['status']}")
    after = world.put("lines", line_id, status="Suspended", suspension_start_date=TODAY)
    return after, after.data.lookup("lines", line_id)


def resume_line(world: World, customer_id: str, line_id: str) -> Result:
    """Make a suspended line active again.

    customer_id: whose line it is.
    line_id: the line.
    """
    line = world.data.line_of_customer(customer_id, line_id)
    if line["status"] not in ("Suspended", "Pending Activation"):
        raise ToolError(f"only a suspended line can be resumed; {line_id} is {line['status']}")
    after = world.put("lines", line_id, status="Active", suspension_start_date=None)
    return after, after.data.lookup("lines", line_id)


def get_bills_for_customer(world: World, customer_id: str, limit: int = 12) -> Result:
    """List a customer's bills, the newest first.

    customer_id: the customer.
    limit: how many at most.
    """
    bills = world.data.bills_of(world.data.lookup("customers", customer_id))
    return world, sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)[:limit]


def send_payment_request(world: World, customer_id: str, bill_id: str) -> Result:
    """Ask a customer to pay a bill. Only one request can be open. Check first that the bill is overdue.

    customer_id: the customer.
    bill_id: the bill.
    """
    customer = world.data.lookup("customers", customer_id)
    if world.data.bills_of(customer, "Awaiting Payment"):
        raise ToolError("another bill of this customer is awaiting payment")
    if bill_id not in customer["bill_ids"]:
        raise ToolError(f"customer {customer_id} has no bill {bill_id!r}")
    after = world.put("bills", bill_id, status="Awaiting Payment")
    return after, f"The customer is asked to pay bill {bill_id}."


def get_data_usage(world: World, customer_id: str, line_id: str) -> Result:
    """Show how much data a line used in this cycle, and its limit.

    customer_id: whose line it is.
    line_id: the line.
    """
    line = world.data.line_of_customer(customer_id, line_id)
    return world, {
        "line_id": line_id,
        "data_used_gb": line["data_used_gb"],
        "data_limit_gb": world.data.lookup("plans", line["plan_id"])["data_limit_gb"],
        "data_refueling_gb": line["data_refueling_gb"],
        "cycle_end_date": _CYCLE_END,
    }


def enable_roaming(world: World, customer_id: str, line_id: str) -> Result:
    """Let a line be used abroad, at no cost.

    customer_id: whose line it is.
    line_id: the line.
    """
    if world.data.line_of_customer(customer_id, line_id)["roaming_enabled"]:
        return world, "Roaming was enabled already."
    return world.put("lines", line_id, roaming_enabled=True), "Roaming is enabled."


def disable_roaming(world: World, customer_id: str, line_id: str) -> Result:
    """Stop a line from being used abroad.

    customer_id: whose line it is.
    line_id: the line.
    """
    if not world.data.line_of_customer(customer_id, line_id)["roaming_enabled"]:
        return world, "Roaming was disabled already."
    return world.put("lines", line_id, roaming_enabled=False), "Roaming is disabled."


def transfer_to_human_agents(world: World, summary: str) -> Result:
    """Hand the customer over to a human colleague. This ends the call.

    summary: what the customer wants and what was done.
    """
    return world, "The customer is handed over."


def refuel_data(world: World, customer_id: str, line_id: str, gb_amount: Number) -> Result:
    """Add data to a line, at the price of its plan, on the next bill.

    customer_id: whose line it is.
    line_id: the line.
    gb_amount: gigabytes.
    """
    line = world.data.line_of_customer(customer_id, line_id)
    if not 0 < gb_amount < MAX_GB:
        raise ToolError(f"the amount must be more than 0 and less than {MAX_GB}")
    charge = gb_amount * world.data.lookup("plans", line["plan_id"])["data_refueling_price_per_gb"]
    added = line["data_refueling_gb"] + gb_amount
    after = _add_charge(
        world.put("lines", line_id, data_refueling_gb=added),
        customer_id,
        charge,
        f"{gb_amount} GB of data for {line_id}",
    )
    return after, {"new_data_refueling_gb": added, "charge": charge}


def _add_charge(world: World, customer_id: str, amount: float, what: str) -> World:
    """The world with an item more on the customer's next bill."""
    customer = world.data.lookup("customers", customer_id)
    draft = next(iter(world.data.bills_of(customer, "Draft")), None)
    if draft is None:
        draft = {
            "bill_id": _unused_bill_id(world),
            "customer_id": customer_id,
            "total_due": 0.0,
            "line_items": [],
            **_NEXT_BILL,
        }
        own = [*customer["bill_ids"], draft["bill_id"]]
        world = world.put("customers", customer_id, bill_ids=own)
    item = {"description": what, "amount": amount, "date": TODAY, "item_type": "Charge"}
    changed: Record = {
        **draft,
        "line_items": [*draft["line_items"], item],
        "total_due": draft["total_due"] + amount,
    }
    return world.put("bills", draft["bill_id"], **changed)


def _unused_bill_id(world: World) -> str:
    number = 9001
    while f"B{number}" in world.data.bills:
        number += 1
    return f"B{number}"


FUNCTIONS = public_functions(globals())
