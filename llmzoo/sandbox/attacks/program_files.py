"""Reads the programs of the attacks, which are data: ``programs/harms``, ``programs/fakes``, one file a subject."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_PROGRAMS = Path(__file__).parent / "programs"


def read_tasks() -> list[dict[str, Any]]:
    """The rows of ``programs/tasks.yaml``."""
    return _read(_PROGRAMS / "tasks.yaml")


def read_groups(kind: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The subjects of "harms" or "fakes", each with its rows, which say what the fields of an attack are.

    A row's ``prelude`` names the lines, shared within a file, that its programs begin with.
    """
    for path in sorted((_PROGRAMS / kind).glob("*.yaml")):
        content = _read(path)
        yield path.stem, [_prepend(row, content.get("preludes", {})) for row in content["attacks"]]


def _prepend(row: dict[str, Any], preludes: dict[str, str]) -> dict[str, Any]:
    prelude = preludes[row.pop("prelude")] if "prelude" in row else ""
    return row | {key: prelude + row[key] for key in ("program", "after") if key in row}


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
