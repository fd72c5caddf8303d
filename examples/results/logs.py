"""The logs of studies: one line of JSON a run. Those of study.py are compressed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]  # a run: its settings, what it gave, and its curve


def write_log(path: Path, rows: Sequence[Row]) -> None:
    """The same rows give the same bytes."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:
        packed.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw.getvalue())


def read_log(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_rows(log: Path) -> list[Row]:
    """The lines of a log that a script appends to; none if there is no log yet."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def row_name(row: Row) -> str:
    """TASK-ARM-SEED, the name of a run."""
    return f"{row['task']}-{row['arm']}-{row['seed']}"
