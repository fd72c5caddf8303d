"""Records of tau2-bench: its tasks, and the airline's records that they are about.

A record has the form of tau2-bench's ``tasks.json`` (arXiv 2506.07982): ``user_scenario`` with its ``instructions``,
and ``evaluation_criteria`` with ``actions``, ``communicate_info`` and ``reward_basis``. The database lies beside it as
``db.json``; so may ``split_tasks.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.sources import BadField, LoadedTasks
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.customer import to_first_person
from llmzoo.envs.tools.airline.database import CABINS, AirlineDatabase
from llmzoo.envs.tools.airline.tasks import ANY, AirlineTask
from llmzoo.envs.tools.service import tau2_folders
from llmzoo.envs.tools.service.tools import write_call
from llmzoo.envs.tools.toolbox import ToolError
from llmzoo.errors import ConfigError

SUPPORTED_CRITERIA = frozenset({"DB", "COMMUNICATE"})
DATABASE = "db.json"
_REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "flights": (
        *("flight_number", "origin", "destination", "dates"),
        *("scheduled_departure_time_est", "scheduled_arrival_time_est"),
    ),
    "users": ("user_id", "payment_methods", "membership", "reservations"),
    "reservations": (
        *("reservation_id", "user_id", "cabin", "flights", "passengers", "payment_history"),
        *("total_baggages", "nonfree_baggages", "insurance"),
    ),
}


def load(source: str, on_bad_record: str) -> LoadedTasks[AirlineTask]:
    """The tasks of a folder or file; raises ``ConfigError``."""
    return tau2_folders.load(source, [DATABASE], _reader, on_bad_record)


@lru_cache(maxsize=8)
def _reader(folder: Path, changed: tuple[int, ...]) -> partial[AirlineTask]:
    """The reader of the records of a folder, with its database, as of the times ``changed``."""
    file = folder / DATABASE
    if not file.is_file():
        raise ConfigError(
            f"{folder} has no {DATABASE}, the airline's records that the tasks are about"
        )
    return partial(parse_record, data=tau2_folders.parse_file(file, build_database))


def build_database(tables: Mapping[str, Any]) -> AirlineDatabase:
    """The database of a file: tables of records by id. Raises ``ValueError``."""
    for table, needed in _REQUIRED_FIELDS.items():
        for id, record in tables[table].items():
            if missing := [name for name in needed if name not in record]:
                raise ValueError(f"{id} of {table} has no {missing[0]}")
    for id, flight in tables["flights"].items():
        for day, status in flight["dates"].items():
            date.fromisoformat(day)
            seats = (status.get("available_seats", {}), status.get("prices", {}))
            if status["status"] == "available" and not all({*CABINS} <= {*each} for each in seats):
                raise ValueError(f"{id} on {day} has not the seats and prices of every cabin")
    booked = {id: {"status": None, **each} for id, each in tables["reservations"].items()}
    return AirlineDatabase(flights=tables["flights"], users=tables["users"], reservations=booked)


def parse_record(record: Mapping[str, Any], *, data: AirlineDatabase) -> AirlineTask:
    """The task of a record; raises ``BadField``."""
    script = tau2_folders.read_customer_script(record)
    for name, value in (record.get("initial_state") or {}).items():
        if value:
            raise BadField("initial_state", f"has {name}, which is not played")
    criteria = sources.get_field(record, "evaluation_criteria", dict)
    basis = tau2_folders.read_reward_basis(criteria, SUPPORTED_CRITERIA)
    if "DB" not in basis:
        raise BadField("reward_basis", "must have DB")
    actions = tuple(
        tau2_folders.read_reference_call(e, TOOLS)
        for e in tau2_folders.read_objects(criteria, "actions")
    )
    info = sources.get_strings(criteria, "communicate_info", []) if "COMMUNICATE" in basis else ()
    unknown = record["user_scenario"]["instructions"].get("unknown_info") or ""
    script = script._replace(known_info=f"{script.known_info}\n{unknown}".strip())
    task = AirlineTask(
        name=sources.record_id(record),
        goal=ANY,
        **script._asdict(),
        opening=f"Hello. {to_first_person(' '.join(script.reason.split()))}",
        data=data,
        reference=actions,
        communicate=info,
        strict=False,
        form=json.dumps([*script, [write_call(call) for call in actions], info]),
    )
    try:
        _ = task.end
    except ToolError as error:
        raise BadField("actions", f"cannot be played: {error}") from error
    return task
