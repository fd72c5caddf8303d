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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from llmzoo.envs import record_files, sources
from llmzoo.envs.sources import BadField, Loaded
from llmzoo.envs.tools.telecom import toolset
from llmzoo.envs.tools.telecom.faults import ASSERTIONS, SETUP
from llmzoo.envs.tools.telecom.tasks import GOALS, Step, Task, begun, holds
from llmzoo.envs.tools.telecom.toolset import Call
from llmzoo.envs.tools.telecom.world import APN, MODES, Database, Phone, ToolError
from llmzoo.errors import ConfigError

T = TypeVar("T")
JUDGED = frozenset({"ENV_ASSERTION", "ACTION"})
FOLDER_FILE = "tasks.json"
DATABASES, PHONES = ("db.toml", "db.json"), ("user_db.toml", "user_db.json")
SUBSETS_FILE = "split_tasks.json"


def load(source: str, on_bad_record: str) -> Loaded[Task]:
    """The tasks of a folder or file; raises ``ConfigError``."""
    place = Path(source)
    file = place / FOLDER_FILE if place.is_dir() else place
    if not record_files.is_record_file(str(file)) or not file.is_file():
        raise ConfigError(
            f"source must be 'generator', a folder with {FOLDER_FILE}, or a file of such tasks; got {source!r}"
        )
    beside = [file.parent / name for name in (*DATABASES, *PHONES)]
    changed = tuple(each.stat().st_mtime_ns if each.is_file() else 0 for each in beside)
    return sources.load_file(str(file), _reader(file.parent, changed), on_bad_record)


def subset(source: str, name: str) -> frozenset[str]:
    """The ids that the file of subsets beside a source lists under a name; raises ``ConfigError``."""
    place = Path(source)
    file = (place if place.is_dir() else place.parent) / SUBSETS_FILE
    try:
        lists = json.loads(file.read_text(encoding="utf-8"))
        return frozenset(lists[name])
    except (OSError, ValueError) as error:
        raise ConfigError(f"subset {name!r} needs {file}, which cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        known = ", ".join(lists) if isinstance(lists, dict) else "none"
        raise ConfigError(f"{file} has no subset {name!r}; it has: {known}") from error


@lru_cache(maxsize=8)
def _reader(folder: Path, changed: tuple[int, ...]) -> partial[Task]:
    """The reader of the records of a folder, with its database and phone, as of the times ``changed``."""
    data = next((n for n in DATABASES if (folder / n).is_file()), None)
    if data is None:
        raise ConfigError(
            f"{folder} has no {' or '.join(DATABASES)}, the carrier's records that the tasks are about"
        )
    phone = next((n for n in PHONES if (folder / n).is_file()), None)
    return partial(
        read,
        data=_parsed(folder / data, database_of),
        phone=Phone() if phone is None else _parsed(folder / phone, phone_of),
    )


def _parsed(file: Path, made: Callable[[Mapping[str, Any]], T]) -> T:
    """What ``made`` makes of a file; raises ``ConfigError``."""
    try:
        text = file.read_text(encoding="utf-8")
        return made(_toml(text) if file.suffix == ".toml" else json.loads(text))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def _toml(text: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError as error:  # Python 3.10
        raise ValueError("Python reads TOML from 3.11 on; give it as .json") from error
    return tomllib.loads(text)


_LINE = {"data_used_gb": 0.0, "data_refueling_gb": 0.0, "roaming_enabled": False}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "customers": {"line_ids": [], "bill_ids": []},
    "lines": {**_LINE, "status": "Pending Activation", "contract_end_date": None},
    "bills": {"line_items": [], "status": "Draft"},
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "plans": ("data_limit_gb", "price_per_month", "data_refueling_price_per_gb"),
    "customers": ("full_name", "date_of_birth", "phone_number"),
    "lines": ("phone_number", "plan_id"),
    "bills": ("issue_date", "total_due"),
    "devices": (),
}


def database_of(tables: Mapping[str, Any]) -> Database:
    """The database of a file: lists of records. Raises ``ValueError``."""
    found: dict[str, dict[str, Any]] = {}
    for table, needed in _NEEDED.items():
        found[table] = {}
        for given in tables.get(table, []):
            record = {**_DEFAULTS.get(table, {}), **given}
            for name in (f"{table[:-1]}_id", *needed):
                if name not in record:
                    raise ValueError(f"a record of {table} has no {name}")
            found[table][record[f"{table[:-1]}_id"]] = json.loads(json.dumps(record, default=str))
    return Database(**found)


def phone_of(tables: Mapping[str, Any]) -> Phone:
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


def read(record: Mapping[str, Any], *, data: Database, phone: Phone) -> Task:
    """The task of a record; raises ``BadField``."""
    name = sources.identifier(record)
    scenario = sources.field(record, "user_scenario", dict)
    told = sources.field(scenario, "instructions", dict)
    state = sources.field(record, "initial_state", dict)
    for unplayed in ("initialization_data", "message_history"):
        if state.get(unplayed):
            raise BadField(unplayed, "is not played; only initialization_actions are")
    criteria = sources.field(record, "evaluation_criteria", dict)
    basis = frozenset(sources.texts(criteria, "reward_basis"))
    if not basis or not basis <= JUDGED:
        raise BadField(
            "reward_basis",
            f"must be of {', '.join(sorted(JUDGED))}; it has {', '.join(sorted(basis))}",
        )
    setup = tuple(_step(each, SETUP) for each in _list(state, "initialization_actions"))
    asserted = _list(criteria, "env_assertions") if "ENV_ASSERTION" in basis else []
    steps = [(_step(each, ASSERTIONS), each.get("assert_value", True)) for each in asserted]
    actions = [_action(each) for each in _list(criteria, "actions")]
    try:
        world = begun(data, setup, phone)
    except (ToolError, TypeError, AttributeError) as error:
        raise BadField("initialization_actions", f"cannot be played: {error}") from error
    if world.place.phone_number is None:
        raise BadField("initialization_actions", "does not say who calls (set_user_info)")
    task = Task(
        name=name,
        goal=_goal(name, [step for step, _ in steps]),
        reason=sources.field(told, "reason_for_call", str),
        known=sources.field(told, "known_info", str),
        instructions=sources.field(told, "task_instructions", str),
        persona=scenario.get("persona") or "",
        setup=setup,
        world=world,
        repairs=tuple(call for call, _ in actions),
        required=tuple(wanted for _, wanted in actions) if "ACTION" in basis else (),
        asserts=tuple(step for step, value in steps if value),
        refuted=tuple(step for step, value in steps if not value),
    )
    _check(task)
    return task


def _check(task: Task) -> None:
    """Raise ``BadField`` for a task whose assertions or actions cannot be run."""
    try:
        for step in (*task.asserts, *task.refuted):
            holds(task.world, step)
    except (TypeError, AttributeError) as error:
        raise BadField("env_assertions", f"cannot be checked: {error}") from error
    try:
        _ = task.mended
    except ToolError as error:
        raise BadField("actions", f"cannot be played: {error}") from error


def _goal(name: str, asserted: Sequence[Step]) -> str:
    """The reason to call: what the id says, or else what the assertions are about."""
    found = re.match(r"\[(\w+)\]", name)
    if found and found[1] in GOALS:
        return found[1]
    names = {step.name for step in asserted}
    for goal, about in GOALS.items():
        if names & {step.name for step in about.asserts if step.side == "user"}:
            return goal
    return "service_issue"


def _list(record: Mapping[str, Any], name: str) -> list[Any]:
    found = record.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise BadField(name, "must be a list of objects")
    return found


def _step(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Step:
    side = sources.field(given, "env_type", str)
    name = sources.field(given, "func_name", str)
    if name not in known.get(side, {}):
        raise BadField("func_name", f"is {side} {name!r}, which is not played")
    return Step(side, name, sources.field(given, "arguments", dict))


def _action(given: Mapping[str, Any]) -> tuple[Call, Call]:
    """A call of the reference, and the call that must be made: with the arguments that are compared."""
    side = given.get("requestor", "assistant")
    name = sources.field(given, "name", str)
    if name not in toolset.TOOLS.get(side, {}):
        raise BadField("actions", f"has {side} {name!r}, which is no tool")
    arguments = sources.field(given, "arguments", dict)
    compared = given.get("compare_args")
    kept = arguments if compared is None else {n: arguments.get(n) for n in compared}
    return Call(side, name, arguments), Call(side, name, kept)
