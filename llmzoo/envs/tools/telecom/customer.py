"""The scripted customer: does what the agent's message names, and says what the phone has shown.

It reads only what the customer may read, and its own phone. Tools are named as in its prompt, or in
plain words ("turn off airplane mode", "please restart the phone").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from llmzoo.envs.tools.call_syntax import MAX_CALLS
from llmzoo.envs.tools.service.talk import STOP, written
from llmzoo.envs.tools.service.toolset import Call, parameters_of
from llmzoo.envs.tools.telecom import phone
from llmzoo.envs.tools.telecom.talk import Talk
from llmzoo.envs.tools.telecom.world import Phone

UNSURE = "I am not sure what you want me to do. What should I do on my phone?"
AGREED = "Yes, you can add 2 GB of data."
_SOLVED = {
    "service_issue": re.compile(r"Status bar: [1-4] bar"),
    "mobile_data_issue": re.compile(r"Mbps, excellent"),
    "mms_issue": re.compile(r"can be sent"),
}
_NAMED = re.compile(
    rf"\b({'|'.join(sorted(phone.TOOLS, key=len, reverse=True))})\b(\([^()]{{0,120}}\))?"
)
_QUOTED = re.compile(r"[\"'“‘]([^\"'“”‘’]{0,60})[\"'”’]")
_OFF = re.compile(r"\b(off|disable|deactivate)\b")
_ON = re.compile(r"\b(on|enable|activate)\b")
_DO = re.compile(r"\b(turn|switch|toggle|enable|disable|activate|deactivate|set|put)\b")


def answer(talk: Talk) -> str:
    """What the customer does or says next."""
    own = talk.since_message("assistant")
    shown = [each.text for each in own if each.kind == "result"]
    if shown:
        solved = _SOLVED[talk.task.goal].search(" ".join(shown[-4:]))
        told = " ".join(f"{each}." for each in shown)
        return f"{told} That solves it, thank you. {STOP}" if solved else told
    message = talk.last_message("assistant")
    calls = list(asked(message, talk.world.phone))[:MAX_CALLS]
    return written(calls) if calls else reply(message, talk)


def asked(message: str, state: Phone) -> Iterator[Call]:
    """The calls that a message asks for: those that it names, or else those that it means."""
    named = list(_NAMED.finditer(message))
    for found in named:
        values = _QUOTED.findall(found[2] or "")
        takes = parameters_of(phone.TOOLS[found[1]])
        if found[1] != "set_apn_settings" and len(values) >= len(takes):
            yield Call("user", found[1], dict(zip(takes, values, strict=False)))
    if not named:
        for clause in re.split(r"[.;!?\n]|\bthen\b|\band\b", message.lower()):
            yield from _meant(clause, state)


def reply(message: str, talk: Talk) -> str:
    """The answer to a message that asks for nothing on the phone."""
    lower = message.lower()
    facts = re.sub(r"\bYou are\b", "I am", talk.task.known)
    facts = re.sub(r"\byour\b", "my", facts)
    if re.search(r"travel|abroad|where|location|country|name|number", lower):
        return facts
    if re.search(r"refuel|gb\b|more data|add data", lower):
        return AGREED
    return UNSURE


def _meant(clause: str, state: Phone) -> Iterator[Call]:
    for words, means in _WORDS:
        if words.search(clause):
            yield from means(clause, state)
            return


Means = Callable[[str, Phone], Iterator[Call]]


def _switch(tool: str, field: str, check: str) -> Means:
    """Use a switch if it is not as wanted; without a word for it, look it up."""

    def means(clause: str, state: Phone) -> Iterator[Call]:
        off, on = _OFF.search(clause), _ON.search(clause)
        if _DO.search(clause) and (off or on):
            if getattr(state, field) != bool(on and not off):
                yield Call("user", tool)
            return
        yield Call("user", check)

    return means


def _one(*tools: str) -> Means:
    return lambda clause, state: (Call("user", tool) for tool in tools)


def _mode(clause: str, state: Phone) -> Iterator[Call]:
    wanted = next(
        (mode for mode in ("4g_5g_preferred", "4g_only", "3g_only") if mode in clause), ""
    )
    wanted = wanted or ("4g_5g_preferred" if re.search(r"[45]g", clause) else "")
    if wanted:
        yield Call("user", "set_network_mode_preference", {"mode": wanted})
    else:
        yield Call("user", "check_network_mode_preference")


def _vpn(clause: str, state: Phone) -> Iterator[Call]:
    off = _OFF.search(clause) or "disconnect" in clause
    yield Call("user", "disconnect_vpn" if off else "check_vpn_status")


def _apn(clause: str, state: Phone) -> Iterator[Call]:
    yield Call("user", "reset_apn_settings" if "reset" in clause else "check_apn_settings")


def _sim(clause: str, state: Phone) -> Iterator[Call]:
    out = re.search(r"re-?seat|re-?insert|remove|take|put|pull", clause)
    yield Call("user", "reseat_sim_card" if out else "check_sim_status")


def _permission(clause: str, state: Phone) -> Iterator[Call]:
    if re.search(r"grant|give|allow|enable|turn on", clause):
        for name in ("sms", "storage"):
            if name in clause:
                given = {"app_name": "messaging", "permission": name}
                yield Call("user", "grant_app_permission", given)
    else:
        yield Call("user", "check_app_permissions", {"app_name": "messaging"})


# the first that fits a clause counts
_WORDS: tuple[tuple[re.Pattern[str], Means], ...] = tuple(
    (re.compile(words), means)
    for words, means in (
        (r"airplane|flight mode", _switch("toggle_airplane_mode", "airplane_mode", "check_network_status")),
        (r"wi-?fi calling", _switch("toggle_wifi_calling", "wifi_calling_enabled", "check_wifi_calling_status")),
        (r"data saver", _switch("toggle_data_saver_mode", "data_saver_mode", "check_data_restriction_status")),
        (r"roaming", _switch("toggle_roaming", "roaming_enabled", "check_network_status")),
        (r"\b(mobile|cellular) data", _switch("toggle_data", "data_enabled", "check_network_status")),
        (r"speed test|internet speed", _one("run_speed_test")),
        (r"permission|storage", _permission),
        (r"\bmms\b|picture message", _one("can_send_mms")),
        (r"network mode|network preference|preferred network|network type", _mode),
        (r"\bvpn\b", _vpn),
        (r"\bapn\b|access point", _apn),
        (r"\bsim\b", _sim),
        (r"reboot|restart", _one("reboot_device")),
        (r"\bpay|payment", _one("check_payment_request", "make_payment")),
        (r"status bar|icons", _one("check_status_bar")),
        (r"network status|signal|\bbars\b|service", _one("check_network_status")),
    )
)  # fmt: skip
