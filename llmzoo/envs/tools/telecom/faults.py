"""How a task begins and how it is judged: functions that break things, and assertions about the end.

Their names and arguments are those of tau2-bench's task files (``initialization_actions``,
``env_assertions``), which name methods of user_tools.py ("user") and tools.py ("assistant").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from llmzoo.envs.tools.telecom import agent_tools, phone
from llmzoo.envs.tools.telecom.world import (
    POOR,
    TODAY,
    VPN,
    Phone,
    World,
    search_network,
)
from llmzoo.envs.tools.toolbox import ToolError

_LAST_MONTH = {
    "period_start": "2025-01-01",
    "period_end": "2025-01-31",
    "issue_date": "2025-01-01",
    "due_date": "2025-01-15",
}


def _set_user_info(world: World, name: str, phone_number: str) -> World:
    return world.with_place(name=name, phone_number=phone_number)


def _set_user_location(world: World, abroad: bool) -> World:
    return world.with_place(is_abroad=abroad)


def _set_switch(tool: str, field: str, to: bool) -> Callable[[World], World]:
    """Use a switch of the phone once, and again if it is not ``to`` then."""

    def use(world: World) -> World:
        for _ in range(2):
            world, _shown = phone.FUNCTIONS[tool](world)
            if getattr(world.phone, field) == to:
                break
        return world

    return use


def _turn_data_on(world: World) -> World:
    return world.with_phone(data_enabled=True)


def _unseat_sim_card(world: World) -> World:
    return search_network(world.with_phone(sim_card_missing=True))


def _lock_sim_card(world: World, mode: str) -> World:
    status = {"pin": "locked_pin", "puk": "locked_puk"}.get(mode, world.phone.sim_card_status)
    return search_network(world.with_phone(sim_card_status=status))


def _break_apn_settings(world: World) -> World:
    return search_network(world.with_phone(apn=replace(world.phone.apn, apn_name="broken")))


def _break_apn_mms_setting(world: World) -> World:
    return world.with_phone(apn=replace(world.phone.apn, mmsc_url=None))


def _set_wifi_calling(world: World, enabled: bool, mms_over_wifi: bool | None = None) -> World:
    over = world.phone.wifi_calling_mms_over_wifi if mms_over_wifi is None else mms_over_wifi
    return world.with_phone(wifi_calling_enabled=enabled, wifi_calling_mms_over_wifi=over)


def _break_vpn(world: World) -> World:
    vpn = (world.phone.vpn if world.phone.vpn_connected else None) or VPN()
    return world.with_phone(vpn_connected=True, vpn=replace(vpn, server_performance=POOR))


def _remove_app_permission(world: World, app_name: str, permission: str) -> World:
    if permission.lower() not in world.phone.apps.get(app_name, {}):
        return world
    return phone.with_permission(world, app_name, permission.lower(), False)


def _set_data_usage(world: World, customer_id: str, line_id: str, data_used_gb: float) -> World:
    world.data.line_of_customer(customer_id, line_id)
    return world.put("lines", line_id, data_used_gb=data_used_gb)


def _suspend_line_for_overdue_bill(
    world: World, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
) -> World:
    line, customer = (
        world.data.lookup("lines", line_id),
        world.data.lookup("customers", customer_id),
    )
    price = world.data.lookup("plans", line["plan_id"])["price_per_month"]
    if line["status"] != "Active" or world.data.bills_of(customer, "Overdue") or price <= 0:
        raise ToolError("the line must be active and paid for, and its plan must have a price")
    item = {
        "description": f"Line {line_id}",
        "amount": price,
        "date": TODAY,
        "item_type": "Charge",
    }
    bill = {
        "bill_id": new_bill_id,
        "customer_id": customer_id,
        **_LAST_MONTH,
        "total_due": price,
        "line_items": [item],
        "status": "Overdue",
    }
    ended = {"contract_end_date": _LAST_MONTH["period_end"]} if contract_ended else {}
    world = world.put("bills", new_bill_id, **bill)
    world = world.put("customers", customer_id, bill_ids=[*customer["bill_ids"], new_bill_id])
    return world.put("lines", line_id, status="Suspended", suspension_start_date=TODAY, **ended)


Setup = Callable[..., World]


def _as_setup(tool: Callable[..., tuple[World, Any]]) -> Setup:
    return lambda world, **arguments: tool(world, **arguments)[0]


# by "user" or "assistant", and by name; a task may begin with any tool of either side too
SETUP: Mapping[str, Mapping[str, Setup]] = {
    "user": {
        **{name: _as_setup(tool) for name, tool in phone.FUNCTIONS.items()},
        "set_user_info": _set_user_info,
        "set_user_location": _set_user_location,
        "turn_airplane_mode_on": _set_switch("toggle_airplane_mode", "airplane_mode", True),
        "turn_airplane_mode_off": _set_switch("toggle_airplane_mode", "airplane_mode", False),
        "turn_data_on": _turn_data_on,
        "turn_data_off": _set_switch("toggle_data", "data_enabled", False),
        "turn_roaming_on": _set_switch("toggle_roaming", "roaming_enabled", True),
        "turn_roaming_off": _set_switch("toggle_roaming", "roaming_enabled", False),
        "turn_data_saver_mode_on": _set_switch("toggle_data_saver_mode", "data_saver_mode", True),
        "turn_data_saver_mode_off": _set_switch("toggle_data_saver_mode", "data_saver_mode", False),
        "unseat_sim_card": _unseat_sim_card,
        "lock_sim_card": _lock_sim_card,
        "break_apn_settings": _break_apn_settings,
        "break_apn_mms_setting": _break_apn_mms_setting,
        "set_wifi_calling": _set_wifi_calling,
        "break_vpn": _break_vpn,
        "remove_app_permission": _remove_app_permission,
        "simulate_network_search": search_network,
    },
    "assistant": {
        **{name: _as_setup(tool) for name, tool in agent_tools.FUNCTIONS.items()},
        "set_data_usage": _set_data_usage,
        "suspend_line_for_overdue_bill": _suspend_line_for_overdue_bill,
    },
}


def _field_equals(field: str) -> Callable[[World, Any], bool]:
    """An assertion about a field of :class:`Phone`."""
    assert field in Phone.__dataclass_fields__
    return lambda world, expected_status: getattr(world.phone, field) == expected_status


def _internet_speed(world: World, expected_speed: float, expected_desc: str | None = None) -> bool:
    mbps, name = world.speed
    named = expected_desc is None or name.lower() == expected_desc.lower()
    return (mbps or 0.0) >= expected_speed and named


def _internet_not_excellent(world: World) -> bool:
    return world.speed[1] != "Excellent"


def _can_send_mms(world: World, expected_status: bool) -> bool:
    return world.can_send_mms == expected_status


def _mobile_data_status(world: World, expected_status: bool) -> bool:
    return world.has_mobile_data == expected_status


def _usage_exceeded(world: World, expected_status: bool) -> bool:
    return world.place.mobile_data_usage_exceeded == expected_status


def _is_refueled(world: World, customer_id: str, line_id: str, expected_amount: float) -> bool:
    line = world.data.line_of_customer(customer_id, line_id)
    return abs(line["data_refueling_gb"] - expected_amount) < 1e-6


def _line_status(world: World, customer_id: str, line_id: str, expected_status: str) -> bool:
    return bool(world.data.line_of_customer(customer_id, line_id)["status"] == expected_status)


def _overdue_bill_exists(world: World, customer_id: str, overdue_bill_id: str) -> bool:
    overdue = world.data.bills_of(world.data.lookup("customers", customer_id), "Overdue")
    return overdue_bill_id in [bill["bill_id"] for bill in overdue]


def _no_overdue_bill(world: World, overdue_bill_id: str) -> bool:
    bill = world.data.bills.get(overdue_bill_id)
    return bill is None or bill["status"] == "Paid"


# by "user" or "assistant", and by name
ASSERTIONS: Mapping[str, Mapping[str, Callable[..., bool]]] = {
    "user": {
        "assert_airplane_mode_status": _field_equals("airplane_mode"),
        "assert_service_status": _field_equals("network_connection_status"),
        "assert_mobile_data_status": _mobile_data_status,
        "assert_mobile_roaming_status": _field_equals("roaming_enabled"),
        "assert_mobile_data_saver_mode_status": _field_equals("data_saver_mode"),
        "assert_internet_speed": _internet_speed,
        "assert_internet_not_excellent": _internet_not_excellent,
        "assert_can_send_mms": _can_send_mms,
        "assert_mobile_data_usage_exceeded": _usage_exceeded,
    },
    "assistant": {
        "assert_data_refueling_amount": _is_refueled,
        "assert_line_status": _line_status,
        "assert_overdue_bill_exists": _overdue_bill_exists,
        "assert_no_overdue_bill": _no_overdue_bill,
    },
}
