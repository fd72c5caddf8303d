"""A company's records: tables of records by id, which are never changed in place."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from llmzoo.envs.tools.toolbox import ToolError

Record = Mapping[str, Any]
TablesT = TypeVar("TablesT", bound="Tables")


@dataclass(frozen=True, slots=True)
class Tables:
    """Base of a database: each field of a subclass is a table."""

    def lookup(self, table: str, id: str) -> Record:
        """A record; raises ``ToolError``."""
        found: Record | None = getattr(self, table).get(id)
        if found is None:
            raise ToolError(f"no {table[:-1]} has the id {id!r}")
        return found

    def put(self: TablesT, table: str, id: str, **fields: Any) -> TablesT:
        """The database with changed fields of a record, or with a new record."""
        records = getattr(self, table)
        changed = {**records, id: {**records.get(id, {}), **fields}}
        return replace(self, **{table: changed})


def normalize_name(name: str) -> str:
    """A name without accents and capitals."""
    apart = unicodedata.normalize("NFKD", name)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold().strip()
