"""Scripted agents: one that looks up, asks, repairs and tests, and sloppy players of both agents.

The expert knows the state of the phone, but acts on the customer's side by messages alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.conversations import STOP, TRANSFER, format_calls
from llmzoo.envs.tools.telecom import customer
from llmzoo.envs.tools.telecom.conversations import TelecomConversation
from llmzoo.envs.tools.telecom.tasks import GOALS
from llmzoo.envs.tools.telecom.world import NO_SERVICE, POOR, TODAY, World

REFUEL_GB = 2.0
CORRECT_RATE = 0.75  # how often a noisy expert makes no mistake

_CHECKS = {
    "service_issue": ("check_network_status", "check_sim_status", "check_apn_settings"),
    "mobile_data_issue": (
        *("check_network_status", "check_data_restriction_status"),
        *("check_network_mode_preference", "check_vpn_status", "run_speed_test"),
    ),
    "mms_issue": (
        *("check_network_status", "check_sim_status", "check_network_mode_preference"),
        *("check_wifi_calling_status", "check_apn_settings", "can_send_mms"),
        'check_app_permissions("messaging")',
    ),
}


def expert_agent(conversation: TelecomConversation) -> str:
    """The expert agent's answer."""
    if calls := list(_lookup_calls(conversation)):
        return format_calls(calls)
    if not conversation.messages("assistant"):
        return (
            "Thank you for calling. Where are you at the moment? Please use these on your phone and tell me what "
            f"they show: {'; '.join(_CHECKS[conversation.task.goal])}."
        )
    if _is_beyond_repair(conversation.world):
        return format_calls(
            [ToolCall(TRANSFER, {"summary": "This cannot be mended on the phone."})]
        )
    if calls := list(_agent_repairs(conversation.world)):
        return format_calls(calls)
    steps = [
        *_phone_steps(conversation.world, conversation.task.goal),
        GOALS[conversation.task.goal].test_tool,
    ]
    return f"Please use these on your phone, in this order, and tell me what they show: {'; '.join(steps)}."


def _lookup_calls(conversation: TelecomConversation) -> Iterator[ToolCall]:
    """What the agent must know of the customer before anything else."""
    called = {call.name for call in conversation.made}
    number = conversation.world.place.phone_number or ""
    owner = conversation.world.data.customer_by_number(number)
    line = conversation.world.data.line_by_number(number)
    ids = {"customer_id": owner["customer_id"], "line_id": line["line_id"]}
    if "get_customer_by_phone" not in called:
        yield ToolCall("get_customer_by_phone", {"phone_number": number})
    elif "get_details_by_id" not in called:
        for line_id in owner["line_ids"]:
            yield ToolCall("get_details_by_id", {"id": line_id})
        owned = {"customer_id": owner["customer_id"]}
        yield ToolCall("get_bills_for_customer", owned)
    elif conversation.task.goal != "service_issue" and "get_data_usage" not in called:
        yield ToolCall("get_data_usage", ids)


def _is_beyond_repair(world: World) -> bool:
    line = world.data.line_by_number(world.place.phone_number or "")
    ended = (line.get("contract_end_date") or TODAY) < TODAY
    return world.phone.sim.startswith("locked") or (line["status"] == "Suspended" and ended)


def _agent_repairs(world: World) -> Iterator[ToolCall]:
    """What the agent can do now."""
    data, number = world.data, world.place.phone_number or ""
    line, owner = data.line_by_number(number), data.customer_by_number(number)
    ids = {"customer_id": owner["customer_id"], "line_id": line["line_id"]}
    if world.place.is_abroad and not line["roaming_enabled"]:
        yield ToolCall("enable_roaming", ids)
    if world.place.mobile_data_usage_exceeded:
        yield ToolCall("refuel_data", {**ids, "gb_amount": REFUEL_GB})
    if line["status"] == "Suspended" and not world.place.payment_request:
        overdue = data.bills_of(owner, "Overdue")
        if overdue:
            bill = {"customer_id": owner["customer_id"], "bill_id": overdue[0]["bill_id"]}
            yield ToolCall("send_payment_request", bill)
        else:
            yield ToolCall("resume_line", ids)


def _phone_steps(world: World, goal: str) -> Iterator[str]:
    """What the customer can do now, as the agent writes it."""
    phone = world.phone
    if world.place.payment_request:
        yield from ("check_payment_request", "make_payment")
    if phone.airplane_mode:
        yield "toggle_airplane_mode"
    if phone.sim_card_missing:
        yield "reseat_sim_card"
    if not phone.data_enabled:
        yield "toggle_data"
    if world.place.is_abroad and not phone.roaming_enabled:
        yield "toggle_roaming"
    if goal == "mobile_data_issue":
        if phone.data_saver_mode:
            yield "toggle_data_saver_mode"
        if phone.vpn_connected and phone.vpn and phone.vpn.server_performance == POOR:
            yield "disconnect_vpn"
    if goal != "service_issue" and phone.network_mode_preference != "4g_5g_preferred":
        yield 'set_network_mode_preference("4g_5g_preferred")'
    if goal == "mms_issue":
        if phone.wifi_calling_enabled and phone.wifi_calling_mms_over_wifi:
            yield "toggle_wifi_calling"
        for name in ("sms", "storage"):
            if not phone.apps.get("messaging", {}).get(name, True):
                yield f'grant_app_permission("messaging", "{name}")'
    broken = phone.apn.apn_name == "broken" or (goal == "mms_issue" and not phone.apn.mmsc_url)
    if broken and not phone.apn.reset_at_reboot:
        yield "reset_apn_settings"
    stuck = phone.network_connection_status == NO_SERVICE and world.place.line_active
    if broken or (stuck and not phone.airplane_mode and not phone.sim_card_missing):
        yield "reboot_device"


def sloppy_agent(conversation: TelecomConversation, rng: random.Random) -> str:
    """The expert's answer in most cases, or a mistake: half of the steps, a wrong one, vague words, a call that
    cannot be read or has a wrong id, or giving up."""
    right = expert_agent(conversation)
    if rng.random() < CORRECT_RATE:
        return right
    steps = right.partition(": ")[2].rstrip(".").split("; ")
    transfer = format_calls([ToolCall(TRANSFER, {"summary": "I do not know."})])
    return rng.choice(
        (
            f"Please use {'; '.join(steps[::2])}." if ": " in right else "One moment, please.",
            "Please use toggle_airplane_mode and then reboot_device.",
            "Is it better now?",
            right[: len(right) // 2] if right.startswith("<") else "",
            format_calls([ToolCall("get_details_by_id", {"id": "L9999"})]),
            transfer,
        )
    )


def sloppy_customer(conversation: TelecomConversation, rng: random.Random) -> str:
    """The scripted customer's answer in most cases, or a mistake: only the first step, words instead of steps, a
    call that cannot be read, nothing, or hanging up."""
    right = customer.respond(conversation)
    if rng.random() < CORRECT_RATE:
        return right
    return rng.choice(
        (
            right.partition("\n")[0],
            "I have done that.",
            "It still does not work.",
            right[: len(right) // 2] if right.startswith("<") else "",
            f"I give up. {STOP}" if rng.random() < 0.5 else right,
        )
    )
