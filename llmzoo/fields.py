"""The fields of dataclasses, by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def field_names(cls: Any) -> set[str]:
    """The names of the fields of a dataclass, or of an instance of one."""
    return {field.name for field in fields(cls)}


def field_values(record: Any) -> dict[str, Any]:
    """The values of an instance, as they are: ``dataclasses.asdict`` copies what is in them too."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def shared_fields(record: Any, cls: Any) -> dict[str, Any]:
    """The values of those fields that the dataclass ``cls`` has too."""
    names = field_names(cls)
    return {name: value for name, value in field_values(record).items() if name in names}
