"""The scripted customer: does what the agent's message names, and says what the phone has shown.

It reads only what the customer may read, and its own phone. Tools are named as in its prompt, or in
plain words ("turn off airplane mode", "please restart the phone").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from llmzoo.envs.tools.call_syntax import MAX_CALLS, ToolCall
from llmzoo.envs.tools.service.conversations import STOP, format_calls
from llmzoo.envs.tools.telecom.conversations import TelecomConversation
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.envs.tools.telecom.world import Phone

UNSURE = "I am not sure what you want me to do. What should I do on my phone?"
AGREED = "Yes, you can add 2 GB of data."
_SOLVED = {
    "service_issue": re.compile(r"Status bar: [1-4] bar"),
    "mobile_data_issue": re.compile(r"Mbps, excellent"),
    "mms_issue": re.compile(r"can be sent"),
}
_PHONE = TOOLS["user"].tools
_NAMED = re.compile(
    rf"\b({'|'.join(sorted(_PHONE, key=len, reverse=True))})\b(\([^()]{{0,120}}\))?"
)
_QUOTED = re.compile(r"[\"'“‘]([^\"'“”‘’]{0,60})[\"'”’]")
_OFF = re.compile(r"\b(off|disable|deactivate)\b")
_ON = re.compile(r"\b(on|enable|activate)\b")
_DO = re.compile(r"\b(turn|switch|toggle|enable|disable|activate|deactivate|set|put)\b")


def respond(conversation: TelecomConversation) -> str:
    """What the customer does or says next."""
    new_entries = conversation.entries_since_message_from("assistant")
    shown = [each.text for each in new_entries if each.kind == "result"]
    if shown:
        solved = _SOLVED[conversation.task.goal].search(" ".join(shown[-4:]))
        report = " ".join(f"{each}." for each in shown)
        return f"{report} That solves it, thank you. {STOP}" if solved else report
    message = conversation.last_message_from("assistant")
    calls = list(requested_calls(message, conversation.world.phone))[:MAX_CALLS]
    return format_calls(calls) if calls else reply(message, conversation)


def requested_calls(message: str, state: Phone) -> Iterator[ToolCall]:
    """The calls that a message asks for: those that it names, or else those that it means."""
    named = list(_NAMED.finditer(message))
    for found in named:
        values = _QUOTED.findall(found[2] or "")
        takes = _PHONE[found[1]].parameters["properties"]
        if found[1] != "set_apn_settings" and len(values) >= len(takes):
            yield ToolCall(found[1], dict(zip(takes, values, strict=False)))
    if not named:
        for clause in re.split(r"[.;!?\n]|\bthen\b|\band\b", message.lower()):
            yield from _infer_calls(clause, state)


def reply(message: str, conversation: TelecomConversation) -> str:
    """The answer to a message that asks for nothing on the phone."""
    lower = message.lower()
    facts = re.sub(r"\bYou are\b", "I am", conversation.task.known_info)
    facts = re.sub(r"\byour\b", "my", facts)
    if re.search(r"travel|abroad|where|location|country|name|number", lower):
        return facts
    if re.search(r"refuel|gb\b|more data|add data", lower):
        return AGREED
    return UNSURE


def _infer_calls(clause: str, state: Phone) -> Iterator[ToolCall]:
    for words, means in _WORDS:
        if words.search(clause):
            yield from means(clause, state)
            return


ClauseReader = Callable[[str, Phone], Iterator[ToolCall]]


def _switch(tool: str, field: str, check: str) -> ClauseReader:
    """Use a switch if it is not as wanted; without a word for it, look it up."""

    def means(clause: str, state: Phone) -> Iterator[ToolCall]:
        off, on = _OFF.search(clause), _ON.search(clause)
        if _DO.search(clause) and (off or on):
            if getattr(state, field) != bool(on and not off):
                yield ToolCall(tool)
            return
        yield ToolCall(check)

    return means


def _use_tools(*tools: str) -> ClauseReader:
    return lambda clause, state: (ToolCall(tool) for tool in tools)


def _mode(clause: str, state: Phone) -> Iterator[ToolCall]:
    wanted = next(
        (mode for mode in ("4g_5g_preferred", "4g_only", "3g_only") if mode in clause), ""
    )
    wanted = wanted or ("4g_5g_preferred" if re.search(r"[45]g", clause) else "")
    if wanted:
        yield ToolCall("set_network_mode_preference", {"mode": wanted})
    else:
        yield ToolCall("check_network_mode_preference")


def _vpn(clause: str, state: Phone) -> Iterator[ToolCall]:
    off = _OFF.search(clause) or "disconnect" in clause
    yield ToolCall("disconnect_vpn" if off else "check_vpn_status")


def _apn(clause: str, state: Phone) -> Iterator[ToolCall]:
    yield ToolCall("reset_apn_settings" if "reset" in clause else "check_apn_settings")


def _sim(clause: str, state: Phone) -> Iterator[ToolCall]:
    out = re.search(r"re-?seat|re-?insert|remove|take|put|pull", clause)
    yield ToolCall("reseat_sim_card" if out else "check_sim_status")


def _permission(clause: str, state: Phone) -> Iterator[ToolCall]:
    if re.search(r"grant|give|allow|enable|turn on", clause):
        for name in ("sms", "storage"):
            if name in clause:
                given = {"app_name": "messaging", "permission": name}
                yield ToolCall("grant_app_permission", given)
    else:
        yield ToolCall("check_app_permissions", {"app_name": "messaging"})


# the first that fits a clause counts
_WORDS: tuple[tuple[re.Pattern[str], ClauseReader], ...] = tuple(
    (re.compile(words), means)
    for words, means in (
        (r"airplane|flight mode", _switch("toggle_airplane_mode", "airplane_mode", "check_network_status")),
        (r"wi-?fi calling", _switch("toggle_wifi_calling", "wifi_calling_enabled", "check_wifi_calling_status")),
        (r"data saver", _switch("toggle_data_saver_mode", "data_saver_mode", "check_data_restriction_status")),
        (r"roaming", _switch("toggle_roaming", "roaming_enabled", "check_network_status")),
        (r"\b(mobile|cellular) data", _switch("toggle_data", "data_enabled", "check_network_status")),
        (r"speed test|internet speed", _use_tools("run_speed_test")),
        (r"permission|storage", _permission),
        (r"\bmms\b|picture message", _use_tools("can_send_mms")),
        (r"network mode|network preference|preferred network|network type", _mode),
        (r"\bvpn\b", _vpn),
        (r"\bapn\b|access point", _apn),
        (r"\bsim\b", _sim),
        (r"reboot|restart", _use_tools("reboot_device")),
        (r"\bpay|payment", _use_tools("check_payment_request", "make_payment")),
        (r"status bar|icons", _use_tools("check_status_bar")),
        (r"network status|signal|\bbars\b|service", _use_tools("check_network_status")),
    )
)  # fmt: skip
