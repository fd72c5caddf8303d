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
from llmzoo.envs.sources import BadField, Loaded
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.customer import first_person
from llmzoo.envs.tools.airline.database import CABINS, Database
from llmzoo.envs.tools.airline.tasks import ANY, Task
from llmzoo.envs.tools.service import folders
from llmzoo.envs.tools.service.toolset import ToolError
from llmzoo.errors import ConfigError

JUDGED = frozenset({"DB", "COMMUNICATE"})
DATABASE = "db.json"
_NEEDED: Mapping[str, tuple[str, ...]] = {
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


def load(source: str, on_bad_record: str) -> Loaded[Task]:
    """The tasks of a folder or file; raises ``ConfigError``."""
    return folders.load(source, [DATABASE], _reader, on_bad_record)


@lru_cache(maxsize=8)
def _reader(folder: Path, changed: tuple[int, ...]) -> partial[Task]:
    """The reader of the records of a folder, with its database, as of the times ``changed``."""
    file = folder / DATABASE
    if not file.is_file():
        raise ConfigError(
            f"{folder} has no {DATABASE}, the airline's records that the tasks are about"
        )
    return partial(read, data=folders.parsed(file, database_of))


def database_of(tables: Mapping[str, Any]) -> Database:
    """The database of a file: tables of records by id. Raises ``ValueError``."""
    for table, needed in _NEEDED.items():
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
    return Database(flights=tables["flights"], users=tables["users"], reservations=booked)


def read(record: Mapping[str, Any], *, data: Database) -> Task:
    """The task of a record; raises ``BadField``."""
    told = folders.told(record)
    for name, value in (record.get("initial_state") or {}).items():
        if value:
            raise BadField("initial_state", f"has {name}, which is not played")
    criteria = sources.field(record, "evaluation_criteria", dict)
    basis = folders.basis(criteria, JUDGED)
    if "DB" not in basis:
        raise BadField("reward_basis", "must have DB")
    actions = tuple(folders.action(e, TOOLS) for e in folders.objects(criteria, "actions"))
    said = sources.texts(criteria, "communicate_info", []) if "COMMUNICATE" in basis else ()
    unknown = record["user_scenario"]["instructions"].get("unknown_info") or ""
    told = told._replace(known=f"{told.known}\n{unknown}".strip())
    task = Task(
        name=sources.identifier(record),
        goal=ANY,
        **told._asdict(),
        opening=f"Hello. {first_person(' '.join(told.reason.split()))}",
        data=data,
        reference=actions,
        communicate=said,
        strict=False,
        form=json.dumps([*told, [call.written() for call in actions], said]),
    )
    try:
        _ = task.end
    except ToolError as error:
        raise BadField("actions", f"cannot be played: {error}") from error
    return task
