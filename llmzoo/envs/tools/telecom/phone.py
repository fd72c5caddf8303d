"""The customer's tools, which operate the phone.

Each tool takes the world and returns the new world and the text that the phone shows. Names,
arguments and effects are those of tau2-bench's user_tools.py; the texts on the display are our own.
A tool's docstring is its description in prompts.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from llmzoo.envs.tools.service.tools import public_functions
from llmzoo.envs.tools.telecom.world import (
    APN,
    MODES,
    NONE,
    SEARCHING,
    VPN,
    World,
    search_network,
)
from llmzoo.envs.tools.toolbox import ToolError

ToolOutput = tuple[World, str]

_BARS = {"none": "no signal", "poor": "1 bar", "fair": "2 bars", "good": "3 bars"}
_NO_WIFI: dict[str, Any] = {
    "wifi_connected": False,
    "wifi_ssid": None,
    "wifi_signal_strength": NONE,
}


def _on_or_off(value: bool) -> str:
    return "on" if value else "off"


def status_bar(world: World) -> str:
    phone = world.phone
    connected = phone.network_technology_connected != NONE
    shown = ["airplane mode"] if phone.airplane_mode else []
    if not phone.airplane_mode:
        shown += [_BARS.get(phone.network_signal_strength, "4 bars")]
        shown += [phone.network_technology_connected] if connected else []
        shown += ["data on" if phone.data_enabled and connected else "data off"]
        if phone.data_enabled and connected and phone.data_saver_mode:
            shown += ["data saver"]
    if phone.wifi_enabled and phone.wifi_connected:
        shown += [f"Wi-Fi {phone.wifi_ssid or 'connected'}"]
    shown += ["VPN"] if phone.vpn_connected else []
    return f"Status bar: {', '.join([*shown, f'battery {phone.battery_level}%'])}"


def _with_status_bar(world: World, message: str) -> ToolOutput:
    return world, f"{message}. {status_bar(world)}"


def check_status_bar(world: World) -> ToolOutput:
    """Look at the icons at the top of the screen: signal, mobile data, Wi-Fi, battery."""
    return world, status_bar(world)


def check_network_status(world: World) -> ToolOutput:
    """Look up airplane mode, SIM card, signal, network type, mobile data, data roaming and Wi-Fi."""
    phone = world.phone
    lines = [
        f"Airplane mode: {_on_or_off(phone.airplane_mode)}",
        f"SIM card: {phone.sim}",
        f"Connection: {phone.network_connection_status}",
        f"Signal: {phone.network_signal_strength}",
        f"Network type: {phone.network_technology_connected}",
        f"Mobile data: {_on_or_off(phone.data_enabled)}",
        f"Data roaming: {_on_or_off(phone.roaming_enabled)}",
        f"Wi-Fi: {_on_or_off(phone.wifi_enabled)}",
        f"Wi-Fi network: {phone.wifi_ssid or 'none'}",
    ]
    return world, "; ".join(lines)


def check_network_mode_preference(world: World) -> ToolOutput:
    """Look up which types of network the phone may use."""
    return world, f"Network mode: {world.phone.network_mode_preference}"


def set_network_mode_preference(world: World, mode: str) -> ToolOutput:
    """Choose which types of network the phone may use.

    mode: "4g_5g_preferred", "4g_only", "3g_only" or "2g_only".
    """
    if mode not in MODES:
        return world, f"There is no mode {mode!r}. The modes are: {', '.join(MODES)}"
    return _with_status_bar(
        search_network(world.with_phone(network_mode_preference=mode)), f"Mode: {mode}"
    )


def run_speed_test(world: World) -> ToolOutput:
    """Measure the speed of mobile data."""
    mbps, name = world.speed
    if mbps is None:
        return world, "Speed test failed: no connection"
    return world, f"Speed: {mbps:.2f} Mbps, {name.lower()}"


def toggle_airplane_mode(world: World) -> ToolOutput:
    """Switch airplane mode on or off. On, it cuts every radio connection, and a VPN."""
    phone = world.phone
    if phone.airplane_mode:
        offline = _NO_WIFI if phone.wifi_enabled else {}
        after = world.with_phone(
            airplane_mode=False, network_connection_status=SEARCHING, **offline
        )
    else:
        dropped = {"vpn_connected": False, "vpn": None} if phone.vpn_connected else {}
        after = world.with_phone(airplane_mode=True, **_NO_WIFI, **dropped)
    after = search_network(after)
    return _with_status_bar(after, f"Airplane mode is now {_on_or_off(after.phone.airplane_mode)}")


def check_sim_status(world: World) -> ToolOutput:
    """Look up whether the SIM card is active, missing, or locked with a PIN or PUK."""
    return world, f"SIM card: {world.phone.sim}"


def reseat_sim_card(world: World) -> ToolOutput:
    """Take the SIM card out and put it back in."""
    return _with_status_bar(
        search_network(world.with_phone(sim_card_missing=False)), "The SIM card is seated"
    )


def toggle_data(world: World) -> ToolOutput:
    """Switch mobile data on or off."""
    after = search_network(world.with_phone(data_enabled=not world.phone.data_enabled))
    return _with_status_bar(after, f"Mobile data is now {_on_or_off(after.phone.data_enabled)}")


def toggle_roaming(world: World) -> ToolOutput:
    """Switch data roaming on or off: mobile data outside the carrier's own network."""
    after = search_network(world.with_phone(roaming_enabled=not world.phone.roaming_enabled))
    return _with_status_bar(after, f"Data roaming is now {_on_or_off(after.phone.roaming_enabled)}")


def check_data_restriction_status(world: World) -> ToolOutput:
    """Look up whether data saver mode is on."""
    return world, f"Data saver: {_on_or_off(world.phone.data_saver_mode)}"


def toggle_data_saver_mode(world: World) -> ToolOutput:
    """Switch data saver mode on or off. It uses less data, and is slower."""
    after = world.with_phone(data_saver_mode=not world.phone.data_saver_mode)
    return _with_status_bar(after, f"Data saver is now {_on_or_off(after.phone.data_saver_mode)}")


def check_apn_settings(world: World) -> ToolOutput:
    """Look up the access point's name and the address for picture messages (MMSC)."""
    apn = world.phone.apn
    return world, f"APN: {apn.apn_name}; MMSC: {apn.mmsc_url or 'not set'}"


def set_apn_settings(world: World, apn_settings: dict[str, Any]) -> ToolOutput:
    """Enter settings of the access point by hand.

    apn_settings: any of "apn_name", "mms_apn", "mmsc_url", "mms_proxy", "mms_port".
    """
    allowed = {field.name for field in fields(APN)}
    if unknown := set(apn_settings) - allowed:
        raise ToolError(f"there is no setting {sorted(unknown)[0]!r:.60}")
    for name, value in apn_settings.items():
        expected_type = {"reset_at_reboot": bool, "mms_port": int | None}.get(name, str | None)
        if not isinstance(value, expected_type) or (name == "mms_port" and isinstance(value, bool)):
            raise ToolError(f"{name} has the wrong type")
    apn = APN(**apn_settings)
    if apn.apn_name not in ("internet", "broken"):
        raise ToolError("apn_name can only be 'internet'")
    return _with_status_bar(search_network(world.with_phone(apn=apn)), "The settings are entered")


def reset_apn_settings(world: World) -> ToolOutput:
    """Set the access point back to the carrier's defaults, at the next restart of the phone."""
    apn = replace(world.phone.apn, reset_at_reboot=True)
    message = "The APN settings will be reset when the phone restarts"
    return _with_status_bar(search_network(world.with_phone(apn=apn)), message)


def check_wifi_status(world: World) -> ToolOutput:
    """Look up whether Wi-Fi is on, and its network and signal."""
    phone = world.phone
    if not (phone.wifi_enabled and phone.wifi_connected):
        return world, f"Wi-Fi: {_on_or_off(phone.wifi_enabled)}, not connected"
    return world, f"Wi-Fi: on, network {phone.wifi_ssid}, signal {phone.wifi_signal_strength}"


def toggle_wifi(world: World) -> ToolOutput:
    """Switch Wi-Fi on or off."""
    if world.phone.airplane_mode:
        return _with_status_bar(world, "Wi-Fi cannot be changed in airplane mode")
    enabled = not world.phone.wifi_enabled
    after = world.with_phone(wifi_enabled=enabled, **({} if enabled else _NO_WIFI))
    return _with_status_bar(after, f"Wi-Fi is now {_on_or_off(enabled)}")


def check_wifi_calling_status(world: World) -> ToolOutput:
    """Look up whether Wi-Fi calling is on."""
    return world, f"Wi-Fi calling: {_on_or_off(world.phone.wifi_calling_enabled)}"


def toggle_wifi_calling(world: World) -> ToolOutput:
    """Switch Wi-Fi calling on or off: calls over Wi-Fi instead of the mobile network."""
    after = world.with_phone(wifi_calling_enabled=not world.phone.wifi_calling_enabled)
    return _with_status_bar(
        after, f"Wi-Fi calling is now {_on_or_off(after.phone.wifi_calling_enabled)}"
    )


def check_vpn_status(world: World) -> ToolOutput:
    """Look up whether a VPN is connected, and how well its server performs."""
    vpn = world.phone.vpn
    if not world.phone.vpn_connected:
        return world, "VPN: off"
    return world, f"VPN: on, server performance {vpn.server_performance if vpn else 'unknown'}"


def connect_vpn(world: World) -> ToolOutput:
    """Connect to the VPN."""
    if world.phone.vpn_connected:
        return world, "The VPN is connected already"
    return _with_status_bar(world.with_phone(vpn_connected=True, vpn=VPN()), "The VPN is connected")


def disconnect_vpn(world: World) -> ToolOutput:
    """Disconnect the VPN."""
    if not world.phone.vpn_connected:
        return _with_status_bar(world, "There is no VPN to disconnect")
    return _with_status_bar(
        world.with_phone(vpn_connected=False, vpn=None), "The VPN is disconnected"
    )


def check_installed_apps(world: World) -> ToolOutput:
    """List the apps."""
    return world, f"Apps: {', '.join(world.phone.apps)}"


def check_app_status(world: World, app_name: str) -> ToolOutput:
    """Look up an app and its permissions.

    app_name: such as "messaging".
    """
    return check_app_permissions(world, app_name)


def check_app_permissions(world: World, app_name: str) -> ToolOutput:
    """Look up which permissions an app has.

    app_name: such as "messaging".
    """
    app = world.phone.apps.get(app_name)
    if app is None:
        return world, f"There is no app {app_name!r:.60}"
    granted = [name for name, is_granted in app.items() if is_granted]
    return world, f"Permissions of {app_name}: {', '.join(granted) or 'none'}"


def grant_app_permission(world: World, app_name: str, permission: str) -> ToolOutput:
    """Give an app a permission.

    app_name: such as "messaging".
    permission: "sms", "storage", "phone" or "network".
    """
    app, permission = world.phone.apps.get(app_name), permission.lower()
    if app is None:
        return _with_status_bar(world, f"There is no app {app_name!r:.60}")
    if permission not in app:
        return _with_status_bar(world, f"There is no permission {permission!r:.60}")
    return _with_status_bar(
        with_permission(world, app_name, permission, True), f"{permission} granted"
    )


def with_permission(world: World, app_name: str, permission: str, granted: bool) -> World:
    apps = world.phone.apps
    return world.with_phone(apps={**apps, app_name: {**apps[app_name], permission: granted}})


def can_send_mms(world: World) -> ToolOutput:
    """Try to send a picture message with the messaging app."""
    return world, f"A picture message {'can' if world.can_send_mms else 'cannot'} be sent"


def reboot_device(world: World) -> ToolOutput:
    """Restart the phone."""
    apn = APN() if world.phone.apn.reset_at_reboot else world.phone.apn
    return _with_status_bar(search_network(world.with_phone(apn=apn)), "The phone has restarted")


def check_payment_request(world: World) -> ToolOutput:
    """Look up whether the carrier asks for a payment."""
    request = world.place.payment_request
    if request is None:
        return world, "There is no request for a payment"
    return world, f"The carrier asks for {request.amount_due:.2f} USD for bill {request.bill_id}"


def make_payment(world: World) -> ToolOutput:
    """Pay what the carrier asks for."""
    request = world.place.payment_request
    if request is None:
        return world, "There is no request for a payment"
    paid = world.with_place(payment_request=replace(request, paid=True))
    return paid, f"{request.amount_due:.2f} USD paid for bill {request.bill_id}"


FUNCTIONS = public_functions(globals(), "status_bar", "with_permission")
