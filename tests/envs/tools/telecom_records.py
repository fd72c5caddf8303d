"""Records of the form of tau2-bench's telecom tasks, in our words.

The ids, functions, arguments, actions and assertions of ``MODEL_CATALOG`` are those of records of tau2-bench that were
read one by one in its files ``tasks_small.json`` and ``tasks.json`` of the first release (2,285 tasks, customer
C1001, line L1002 with 15 GB).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINE = {"customer_id": "C1001", "line_id": "L1002"}
WHO = ("user", "set_user_info", {"name": "John Smith", "phone_number": "555-123-2002"})
ABROAD = ("user", "set_user_location", {"abroad": True})
SEARCH = ("user", "simulate_network_search", {})
FAST = [
    ("user", "assert_mobile_data_status", {"expected_status": True}),
    ("user", "assert_internet_speed", {"expected_speed": 200, "expected_desc": "excellent"}),
]
SERVED = [
    ("user", "assert_service_status", {"expected_status": "connected"}),
    ("assistant", "assert_no_overdue_bill", {"overdue_bill_id": "B1234321"}),
]
CUT_OFF = [("user", "assert_service_status", {"expected_status": "no_service"})]
SENDS = [("user", "assert_can_send_mms", {"expected_status": True})]
HANDED = [("assistant", "transfer_to_human_agents", {"summary": "I cannot fix the issue."})]
RESET = [("user", "reset_apn_settings", {}), ("user", "reboot_device", {})]


def _user(*names: str, **arguments: Any) -> list[tuple[str, str, dict[str, Any]]]:
    return [("user", name, arguments) for name in names]


def _desk(name: str, **arguments: Any) -> tuple[str, str, dict[str, Any]]:
    return ("assistant", name, {**LINE, **arguments})


def _suspended(contract_ended: bool) -> list[tuple[str, str, dict[str, Any]]]:
    bill = {"new_bill_id": "B1234321", "contract_ended": contract_ended}
    return [_desk("suspend_line_for_overdue_bill", **bill), SEARCH]


def _permission(name: str) -> dict[str, str]:
    return {"app_name": "messaging", "permission": name}


# id -> what follows set_user_info, the actions, the assertions
MODEL_CATALOG: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "[mobile_data_issue]user_abroad_roaming_enabled_off[PERSONA:None]": (
        [ABROAD, *_user("turn_roaming_off"), _desk("enable_roaming")],
        _user("toggle_roaming"),
        FAST,
    ),
    "[mobile_data_issue]user_abroad_roaming_disabled_on[PERSONA:Easy]": (
        [ABROAD, *_user("turn_roaming_on"), _desk("disable_roaming"), SEARCH],
        [_desk("enable_roaming")],
        FAST,
    ),
    "[mobile_data_issue]user_abroad_roaming_disabled_off[PERSONA:Hard]": (
        [ABROAD, *_user("turn_roaming_off"), _desk("disable_roaming"), SEARCH],
        [_desk("enable_roaming"), *_user("toggle_roaming")],
        FAST,
    ),
    "[mobile_data_issue]bad_vpn|data_mode_off|user_abroad_roaming_disabled_off[PERSONA:Easy]": (
        [
            *_user("break_vpn", "turn_data_off"),
            *(ABROAD, *_user("turn_roaming_off"), _desk("disable_roaming"), SEARCH),
        ],
        [
            *_user("disconnect_vpn", "toggle_data"),
            _desk("enable_roaming"),
            *_user("toggle_roaming"),
        ],
        FAST,
    ),
    "[mms_issue]airplane_mode_on|bad_network_preference|bad_wifi_calling|break_app_both_permissions"
    "|data_mode_off|user_abroad_roaming_disabled_on[PERSONA:None]": (
        [
            *_user("turn_airplane_mode_on"),
            *_user("set_network_mode_preference", mode="2g_only"),
            *_user("set_wifi_calling", enabled=True, mms_over_wifi=True),
            *_user("remove_app_permission", **_permission("sms")),
            *_user("remove_app_permission", **_permission("storage")),
            *_user("turn_data_off"),
            *(ABROAD, *_user("turn_roaming_on"), _desk("disable_roaming"), SEARCH),
        ],
        [
            *_user("toggle_airplane_mode"),
            *_user("set_network_mode_preference", mode="4g_5g_preferred"),
            *_user("toggle_wifi_calling"),
            *_user("grant_app_permission", **_permission("sms")),
            *_user("grant_app_permission", **_permission("storage")),
            *_user("toggle_data"),
            _desk("enable_roaming"),
        ],
        SENDS,
    ),
    "[service_issue]lock_sim_card_pin[PERSONA:Hard]": (
        _user("lock_sim_card", mode="pin"),
        HANDED,
        CUT_OFF,
    ),
    "[service_issue]break_apn_settings[PERSONA:None]": (_user("break_apn_settings"), RESET, SERVED),
    "[service_issue]overdue_bill_suspension[PERSONA:Easy]": (
        _suspended(False),
        [
            ("assistant", "send_payment_request", {"customer_id": "C1001", "bill_id": "B1234321"}),
            *(*_user("make_payment"), _desk("resume_line"), *_user("reboot_device")),
        ],
        SERVED,
    ),
    "[service_issue]contract_end_suspension[PERSONA:Hard]": (_suspended(True), HANDED, CUT_OFF),
    "[mms_issue]bad_network_preference[PERSONA:None]": (
        _user("set_network_mode_preference", mode="2g_only"),
        _user("set_network_mode_preference", mode="4g_5g_preferred"),
        SENDS,
    ),
    "[mms_issue]bad_wifi_calling[PERSONA:Easy]": (
        _user("set_wifi_calling", enabled=True, mms_over_wifi=True),
        _user("toggle_wifi_calling"),
        SENDS,
    ),
    "[mms_issue]break_apn_mms_setting[PERSONA:Hard]": (
        _user("break_apn_mms_setting"),
        RESET,
        SENDS,
    ),
    "[mms_issue]break_app_sms_permission[PERSONA:None]": (
        _user("remove_app_permission", **_permission("sms")),
        _user("grant_app_permission", **_permission("sms")),
        SENDS,
    ),
}

# a database of our own with the ids, numbers and figures that the records are about
DATABASE = """\
[[plans]]
plan_id = "P1002"
data_limit_gb = 15.0
price_per_month = 65.0
data_refueling_price_per_gb = 2.0

[[lines]]
line_id = "L1001"
phone_number = "555-123-2001"
status = "Active"
plan_id = "P1002"

[[lines]]
line_id = "L1002"
phone_number = "555-123-2002"
status = "Active"
plan_id = "P1002"
data_used_gb = 8.7
roaming_enabled = true
contract_end_date = "2026-12-31"

[[customers]]
customer_id = "C1001"
full_name = "John Smith"
date_of_birth = "1985-06-15"
phone_number = "555-123-2002"
line_ids = ["L1001", "L1002"]
bill_ids = ["B1001"]

[[bills]]
bill_id = "B1001"
customer_id = "C1001"
issue_date = 2025-01-05
total_due = 130.0
status = "Paid"
"""
PHONE = """\
[device]
network_signal_strength = "good"
battery_level = 80

[device.active_apn_settings]
apn_name = "internet"
mmsc_url = "http://mms.example/mms"

[device.app_statuses.messaging]
app_name = "messaging"

[device.app_statuses.messaging.permissions]
sms = true
storage = true
phone = true
network = false
"""


def record(id: str, **changes: Any) -> dict[str, Any]:
    """A record of tau2-bench's form for one of ``MODEL_CATALOG``."""
    setup, actions, assertions = MODEL_CATALOG[id]
    handed = actions == HANDED
    criteria = {
        "actions": [
            {
                "action_id": f"{name}_{number}",
                "requestor": side,
                "name": name,
                "arguments": arguments,
                "compare_args": [] if handed else None,
            }
            for number, (side, name, arguments) in enumerate(actions)
        ],
        "env_assertions": [
            {"env_type": s, "func_name": n, "arguments": a, "assert_value": True}
            for s, n, a in assertions
        ],
        "reward_basis": ["ENV_ASSERTION", "ACTION"] if handed else ["ENV_ASSERTION"],
    }
    state = {
        "initialization_data": None,
        "initialization_actions": [
            {"env_type": s, "func_name": n, "arguments": a} for s, n, a in (WHO, *setup)
        ],
        "message_history": None,
    }
    told = {
        "reason_for_call": "Something is wrong with your phone.",
        "known_info": "You are John Smith with phone number 555-123-2002.",
        "task_instructions": "Do what the agent says.",
    }
    return {
        "id": id,
        "user_scenario": {"persona": None, "instructions": told},
        "initial_state": state,
        "evaluation_criteria": criteria,
        **changes,
    }


def folder(path: Path, records: list[dict[str, Any]] | None = None) -> str:
    """A folder as tau2-bench has it."""
    path.mkdir(exist_ok=True)
    found = [record(id) for id in MODEL_CATALOG] if records is None else records
    (path / "tasks.json").write_text(json.dumps(found, indent=1))
    (path / "db.toml").write_text(DATABASE)
    (path / "user_db.toml").write_text(PHONE)
    (path / "split_tasks.json").write_text(json.dumps({"test": [r["id"] for r in found[:3]]}))
    return str(path)
