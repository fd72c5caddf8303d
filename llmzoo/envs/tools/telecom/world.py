"""The world of a call: the customer's phone, where the customer is, and the carrier's database.

Nothing here is changed in place: an action makes a new :class:`World`, so that copies of an episode share
what they have in common. The fields, their values and what follows from what are those of tau2-bench's
telecom domain (arXiv 2506.07982; its files user_data_model.py, data_model.py, user_tools.py and
environment.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from llmzoo.envs.tools.service.tables import Record, Tables
from llmzoo.envs.tools.toolbox import ToolError

TODAY = "2025-02-25"

NO_SERVICE, CONNECTED, SEARCHING = "no_service", "connected", "searching"
NONE, POOR, FAIR, GOOD, EXCELLENT = "none", "poor", "fair", "good", "excellent"
# what each network mode connects to, the best first
MODES: Mapping[str, tuple[str, ...]] = {
    "4g_5g_preferred": ("5G", "4G"),
    "4g_only": ("4G",),
    "3g_only": ("3G",),
    "2g_only": ("2G",),
}
SPEEDS: Mapping[str, tuple[float, float]] = {  # Mbps, least and most
    "none": (0.0, 0.0),
    "2G": (0.1, 0.4),
    "3G": (1.0, 5.0),
    "4G": (10.0, 100.0),
    "5G": (50.0, 500.0),
}
SIGNAL_SHARES = {NONE: 0.0, POOR: 0.2, FAIR: 0.5, GOOD: 0.8, EXCELLENT: 1.0}
POOR_VPN_SHARE = 0.1
DATA_SAVER_SHARE = 0.2
# Mbps below which a speed is called so
SPEED_NAMES = ((1.0, "Very Poor"), (5.0, "Poor"), (25.0, "Fair"), (100.0, "Good"))


@dataclass(frozen=True, slots=True)
class APN:
    """The settings of the access point."""

    apn_name: str = "internet"  # or "broken"
    reset_at_reboot: bool = False
    mms_apn: str | None = "mms"
    mmsc_url: str | None = "http://mms.carrier.example/mms"
    mms_proxy: str | None = None
    mms_port: int | None = None


@dataclass(frozen=True, slots=True)
class VPN:
    server_address: str | None = "192.0.2.1"
    protocol: str | None = "OpenVPN"
    server_performance: str = EXCELLENT


@dataclass(frozen=True, slots=True)
class Phone:
    """The state of the phone. ``apps``: the permissions of each app."""

    sim_card_status: str = "active"  # or "locked_pin", "locked_puk"
    sim_card_missing: bool = False
    airplane_mode: bool = False
    network_signal_strength: str = GOOD
    network_technology_connected: str = "5G"
    network_connection_status: str = CONNECTED
    battery_level: int = 80
    data_enabled: bool = True
    roaming_enabled: bool = False
    network_mode_preference: str = "4g_5g_preferred"
    apn: APN = APN()
    wifi_enabled: bool = False
    wifi_connected: bool = False
    wifi_ssid: str | None = None
    wifi_signal_strength: str = NONE
    wifi_calling_enabled: bool = False
    wifi_calling_mms_over_wifi: bool = False
    data_saver_mode: bool = False
    vpn_enabled_setting: bool = False
    vpn_connected: bool = False
    vpn: VPN | None = None
    apps: Mapping[str, Mapping[str, bool]] = field(
        default_factory=lambda: {
            "messaging": {"sms": True, "storage": True, "phone": True, "network": False},
            "browser": {"sms": False, "storage": True, "phone": False, "network": True},
        }
    )

    @property
    def sim(self) -> str:
        return "missing" if self.sim_card_missing else self.sim_card_status


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    bill_id: str
    amount_due: float
    paid: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who the customer is, where, and what the carrier lets the phone do."""

    name: str | None = None
    phone_number: str | None = None
    is_abroad: bool = False
    roaming_allowed: bool = False
    signal_strength: Mapping[str, str] = field(
        default_factory=lambda: {"2G": POOR, "3G": FAIR, "4G": GOOD, "5G": EXCELLENT}
    )
    mobile_data_usage_exceeded: bool = False
    line_active: bool = True
    payment_request: PaymentRequest | None = None


@dataclass(frozen=True, slots=True)
class TelecomDatabase(Tables):
    """The carrier's records, each table by id."""

    plans: Mapping[str, Record] = field(default_factory=dict)
    customers: Mapping[str, Record] = field(default_factory=dict)
    lines: Mapping[str, Record] = field(default_factory=dict)
    bills: Mapping[str, Record] = field(default_factory=dict)
    devices: Mapping[str, Record] = field(default_factory=dict)

    def line_by_number(self, phone_number: str) -> Record:
        """The line with a number; raises ``ToolError``."""
        wanted = digits(phone_number)
        for line in self.lines.values():
            if wanted and digits(line["phone_number"]) == wanted:
                return line
        raise ToolError(f"no line has the number {phone_number!r}")

    def customer_by_number(self, phone_number: str) -> Record:
        """The customer whose own number this is, or who has a line with it; raises ``ToolError``."""
        wanted = digits(phone_number)
        for customer in self.customers.values():
            lines = (self.lookup("lines", each)["phone_number"] for each in customer["line_ids"])
            if wanted and wanted in map(digits, (customer["phone_number"], *lines)):
                return customer
        raise ToolError(f"no customer has the phone number {phone_number!r}")

    def line_of_customer(self, customer_id: str, line_id: str) -> Record:
        """A customer's line; raises ``ToolError``."""
        if line_id not in self.lookup("customers", customer_id)["line_ids"]:
            raise ToolError(f"customer {customer_id} has no line {line_id!r}")
        return self.lookup("lines", line_id)

    def bills_of(self, customer: Record, status: str | None = None) -> list[Record]:
        found = [self.lookup("bills", id) for id in customer["bill_ids"]]
        return [bill for bill in found if status in (None, bill["status"])]


@dataclass(frozen=True, slots=True)
class World:
    phone: Phone = field(default_factory=Phone)
    place: Surroundings = field(default_factory=Surroundings)
    data: TelecomDatabase = field(default_factory=TelecomDatabase)

    def with_phone(self, **fields: Any) -> World:
        return replace(self, phone=replace(self.phone, **fields))

    def with_place(self, **fields: Any) -> World:
        return replace(self, place=replace(self.place, **fields))

    def put(self, table: str, id: str, **fields: Any) -> World:
        return replace(self, data=self.data.put(table, id, **fields))

    @property
    def has_mobile_data(self) -> bool:
        """Whether the phone has mobile data."""
        phone, place = self.phone, self.place
        roams = phone.roaming_enabled and place.roaming_allowed
        return (
            not phone.airplane_mode
            and phone.network_signal_strength != NONE
            and phone.network_connection_status != NO_SERVICE
            and (roams or not place.is_abroad)
            and phone.data_enabled
            and not place.mobile_data_usage_exceeded
        )

    @property
    def speed(self) -> tuple[float | None, str]:
        """The speed of mobile data in Mbps, None without a connection, and its name."""
        if not self.has_mobile_data:
            return None, "No Connection"
        phone = self.phone
        share = SIGNAL_SHARES[phone.network_signal_strength]
        slow = phone.vpn_connected and phone.vpn and phone.vpn.server_performance == POOR
        factor = POOR_VPN_SHARE if slow else 1.0
        factor *= DATA_SAVER_SHARE if phone.data_saver_mode else 1.0
        mbps = round(sum(SPEEDS[phone.network_technology_connected]) / 2 * share * factor, 2)
        return mbps, next((name for most, name in SPEED_NAMES if mbps < most), "Excellent")

    @property
    def can_send_mms(self) -> bool:
        """Whether the messaging app can send a picture message."""
        phone = self.phone
        allowed = phone.apps.get("messaging", {})
        return (
            self.has_mobile_data
            and phone.network_technology_connected != "2G"
            and not (phone.wifi_calling_enabled and phone.wifi_calling_mms_over_wifi)
            and phone.apn.mmsc_url is not None
            and allowed.get("storage", False)
            and allowed.get("sms", False)
        )


@lru_cache(maxsize=256)  # every step looks for the customer by number
def digits(number: str) -> str:
    return "".join(filter(str.isdigit, number))


def search_network(world: World) -> World:
    """The world after the phone looked for a network."""
    phone, place = world.phone, world.place
    out = (
        phone.sim != "active"
        or phone.airplane_mode
        or phone.apn.apn_name == "broken"
        or not place.line_active
    )
    if out:
        return world.with_phone(
            network_connection_status=NO_SERVICE,
            network_technology_connected=NONE,
            network_signal_strength=NONE,
        )
    strengths = place.signal_strength
    wanted = MODES[phone.network_mode_preference]
    found = next((each for each in wanted if strengths.get(each, NONE) != NONE), wanted[-1])
    return world.with_phone(
        network_connection_status=CONNECTED,
        network_technology_connected=found,
        network_signal_strength=strengths.get(found, NONE),
    )


def sync_sides(world: World) -> World:
    """The world after both sides took note of each other: what the line allows reaches the phone, a paid
    request the bill, and a request for payment the customer. Raises ``ToolError`` if the customer's number is
    no line's."""
    place, data = world.place, world.data
    if place.phone_number is None:
        return world
    line = data.line_by_number(place.phone_number)
    allowance = data.lookup("plans", line["plan_id"])["data_limit_gb"] + line["data_refueling_gb"]
    request = place.payment_request
    if request is not None and request.paid:
        world = world.put("bills", request.bill_id, status="Paid")
        request = None
    if request is None:
        customer = world.data.customer_by_number(place.phone_number)
        for bill in world.data.bills_of(customer, "Awaiting Payment")[:1]:
            request = PaymentRequest(bill["bill_id"], bill["total_due"])
    now = replace(
        place,
        line_active=line["status"] == "Active",
        roaming_allowed=line["roaming_enabled"],
        mobile_data_usage_exceeded=line["data_used_gb"] >= allowance,
        payment_request=request,
    )
    return world if now == place and world.place is place else replace(world, place=now)
