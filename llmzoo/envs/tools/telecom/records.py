"""Records of tau2-bench: its tasks, the database that they are about, and the phone at the start.

A record has the form of tau2-bench's ``tasks.json`` (arXiv 2506.07982): ``user_scenario`` with its
``instructions``, ``initial_state`` with ``initialization_actions``, and ``evaluation_criteria`` with
``actions``, ``env_assertions`` and ``reward_basis``. The database that it is about lies beside it, as
``db.toml`` or ``db.json``; so may the phone at the start (``user_db.toml`` or ``.json``) and
``split_tasks.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.sources import BadField, LoadedTasks
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service import tau2_folders
from llmzoo.envs.tools.telecom.faults import ASSERTIONS, SETUP
from llmzoo.envs.tools.telecom.tasks import GOALS, ScenarioStep, TelecomTask, build_world, holds
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.envs.tools.telecom.world import APN, MODES, Phone, TelecomDatabase
from llmzoo.envs.tools.toolbox import ToolError
from llmzoo.errors import ConfigError

SUPPORTED_CRITERIA = frozenset({"ENV_ASSERTION", "ACTION"})
DATABASES, PHONES = ("db.toml", "db.json"), ("user_db.toml", "user_db.json")


def load(source: str, on_bad_record: str) -> LoadedTasks[TelecomTask]:
    """The tasks of a folder or file; raises ``ConfigError``."""
    return tau2_folders.load(source, (*DATABASES, *PHONES), _reader, on_bad_record)


@lru_cache(maxsize=8)
def _reader(folder: Path, changed: tuple[int, ...]) -> partial[TelecomTask]:
    """The reader of the records of a folder, with its database and phone, as of the times ``changed``."""
    data = next((n for n in DATABASES if (folder / n).is_file()), None)
    if data is None:
        raise ConfigError(
            f"{folder} has no {' or '.join(DATABASES)}, the carrier's records that the tasks are about"
        )
    phone = next((n for n in PHONES if (folder / n).is_file()), None)
    return partial(
        parse_record,
        data=tau2_folders.parse_file(folder / data, build_database),
        phone=Phone() if phone is None else tau2_folders.parse_file(folder / phone, build_phone),
    )


_LINE = {"data_used_gb": 0.0, "data_refueling_gb": 0.0, "roaming_enabled": False}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "customers": {"line_ids": [], "bill_ids": []},
    "lines": {**_LINE, "status": "Pending Activation", "contract_end_date": None},
    "bills": {"line_items": [], "status": "Draft"},
}
_REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "plans": ("data_limit_gb", "price_per_month", "data_refueling_price_per_gb"),
    "customers": ("full_name", "date_of_birth", "phone_number"),
    "lines": ("phone_number", "plan_id"),
    "bills": ("issue_date", "total_due"),
    "devices": (),
}


def build_database(tables: Mapping[str, Any]) -> TelecomDatabase:
    """The database of a file: lists of records. Raises ``ValueError``."""
    found: dict[str, dict[str, Any]] = {}
    for table, needed in _REQUIRED_FIELDS.items():
        found[table] = {}
        for given in tables.get(table, []):
            record = {**_DEFAULTS.get(table, {}), **given}
            for name in (f"{table[:-1]}_id", *needed):
                if name not in record:
                    raise ValueError(f"a record of {table} has no {name}")
            found[table][record[f"{table[:-1]}_id"]] = json.loads(json.dumps(record, default=str))
    return TelecomDatabase(**found)


def build_phone(tables: Mapping[str, Any]) -> Phone:
    """The phone of a file. Raises ``ValueError`` for a field that there is not."""
    given = dict(tables.get("device", {}))
    apn = given.pop("active_apn_settings", {})
    apps = {n: dict(a["permissions"]) for n, a in given.pop("app_statuses", {}).items()}
    known = {each.name for each in fields(Phone)} - {"apn", "apps", "vpn"}
    if unknown := set(given) - known:
        raise ValueError(f"device has an unknown field {sorted(unknown)[0]!r}")
    if given.get("network_mode_preference", "4g_only") not in MODES:
        raise ValueError("device.network_mode_preference is no mode")
    given["apn"] = APN(**apn)
    if apps:
        given["apps"] = apps
    return Phone(**given)


def parse_record(record: Mapping[str, Any], *, data: TelecomDatabase, phone: Phone) -> TelecomTask:
    """The task of a record; raises ``BadField``."""
    name = sources.record_id(record)
    script = tau2_folders.read_customer_script(record)
    state = sources.get_field(record, "initial_state", dict)
    for unplayed in ("initialization_data", "message_history"):
        if state.get(unplayed):
            raise BadField(unplayed, "is not played; only initialization_actions are")
    criteria = sources.get_field(record, "evaluation_criteria", dict)
    basis = tau2_folders.read_reward_basis(criteria, SUPPORTED_CRITERIA)
    setup = tuple(
        _parse_step(each, SETUP)
        for each in tau2_folders.read_objects(state, "initialization_actions")
    )
    asserted = (
        tau2_folders.read_objects(criteria, "env_assertions") if "ENV_ASSERTION" in basis else []
    )
    steps = [(_parse_step(each, ASSERTIONS), each.get("assert_value", True)) for each in asserted]
    actions = [_parse_action(each) for each in tau2_folders.read_objects(criteria, "actions")]
    try:
        world = build_world(data, setup, phone)
    except (ToolError, TypeError, AttributeError) as error:
        raise BadField("initialization_actions", f"cannot be played: {error}") from error
    if world.place.phone_number is None:
        raise BadField("initialization_actions", "does not say who calls (set_user_info)")
    task = TelecomTask(
        name=name,
        goal=_infer_goal(name, [step for step, _ in steps]),
        **script._asdict(),
        setup=setup,
        world=world,
        repairs=tuple(call for call, _ in actions),
        required=tuple(wanted for _, wanted in actions) if "ACTION" in basis else (),
        asserts=tuple(step for step, value in steps if value),
        negated_asserts=tuple(step for step, value in steps if not value),
    )
    _check(task)
    return task


def _check(task: TelecomTask) -> None:
    """Raise ``BadField`` for a task whose assertions or actions cannot be run."""
    try:
        for step in (*task.asserts, *task.negated_asserts):
            holds(task.world, step)
    except (TypeError, AttributeError) as error:
        raise BadField("env_assertions", f"cannot be checked: {error}") from error
    try:
        _ = task.repaired_world
    except ToolError as error:
        raise BadField("actions", f"cannot be played: {error}") from error


def _infer_goal(name: str, asserted: Sequence[ScenarioStep]) -> str:
    """The reason to call: what the id says, or else what the assertions are about."""
    found = re.match(r"\[(\w+)\]", name)
    if found and found[1] in GOALS:
        return found[1]
    names = {step.name for step in asserted}
    for goal, about in GOALS.items():
        if names & {step.name for step in about.asserts if step.side == "user"}:
            return goal
    return "service_issue"


def _parse_step(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> ScenarioStep:
    side = sources.get_field(given, "env_type", str)
    name = sources.get_field(given, "func_name", str)
    if name not in known.get(side, {}):
        raise BadField("func_name", f"is {side} {name!r}, which is not played")
    return ScenarioStep(side, name, sources.get_field(given, "arguments", dict))


def _parse_action(given: Mapping[str, Any]) -> tuple[ToolCall, ToolCall]:
    """A call of the reference, and the call that must be made: with the arguments that are compared."""
    call = tau2_folders.read_reference_call(given, TOOLS)
    compared = given.get("compare_args")
    kept = call.arguments if compared is None else {n: call.arguments.get(n) for n in compared}
    return call, ToolCall(call.name, kept)
