"""All attacks, read from ``programs/harms`` and ``programs/fakes``, one file a subject."""

from __future__ import annotations

from typing import Any

from llmzoo.sandbox.attacks import oracles
from llmzoo.sandbox.attacks.attack import Attack, Fake, Harm, Oracle
from llmzoo.sandbox.attacks.program_files import read_groups


def find_oracle(name: str) -> Oracle:
    """The oracle ``detect_NAME``, or for "open KIND" the one that looks for such a descriptor."""
    action, _, kind = name.partition(" ")
    if kind:
        return oracles.detect_open(kind)
    oracle: Oracle = getattr(oracles, f"detect_{action}")
    return oracle


def _harm(row: dict[str, Any]) -> Harm:
    return Harm(**{**row, "harm": tuple(find_oracle(name) for name in row.get("harm", ()))})


def _fake(row: dict[str, Any]) -> Fake:
    return Fake(**{**row, "tasks": tuple(row["tasks"])} if "tasks" in row else row)


# by the name of a group, "harms/reading"
_HARM_GROUPS = {f"harms/{name}": tuple(map(_harm, rows)) for name, rows in read_groups("harms")}
_FAKE_GROUPS = {f"fakes/{name}": tuple(map(_fake, rows)) for name, rows in read_groups("fakes")}
GROUPS: dict[str, tuple[Attack, ...]] = {**_HARM_GROUPS, **_FAKE_GROUPS}
HARMS = tuple(harm for group in _HARM_GROUPS.values() for harm in group)
FAKES = tuple(fake for group in _FAKE_GROUPS.values() for fake in group)
ATTACKS: tuple[Attack, ...] = (*HARMS, *FAKES)
