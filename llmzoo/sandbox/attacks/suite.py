"""Runs attacks in every column that is asked for, and yields what came of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from .attack import Attack
from .columns import is_rival
from .fakes import FAKES
from .harms import HARMS
from .world import PACKAGES

ATTACKS: tuple[Attack, ...] = (*HARMS, *FAKES)


def run(
    identity: str, columns: list[str], attacks: list[str], lanes: int = 4
) -> Iterator[dict[str, Any]]:
    """What the keeper for this kind of user says, record by record; see keeper.py."""
    order = {"as": identity, "columns": columns, "attacks": attacks, "lanes": lanes}
    paths = [str(PACKAGES), *(path for path in sys.path if path)]
    with subprocess.Popen(
        [sys.executable, "-m", "llmzoo.sandbox.attacks.keeper", json.dumps(order)],
        cwd=PACKAGES,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    ) as keeper:
        assert keeper.stdout
        for line in keeper.stdout:
            yield {"as": identity, **json.loads(line)}
    if keeper.returncode:
        yield {"as": identity, "unavailable": f"the keeper ended with {keeper.returncode}"}


def is_failure(record: dict[str, Any]) -> bool:
    """Whether a record says that the sandbox let an attack succeed, or judged a control wrong."""
    if is_rival(record.get("column", "")):
        return False
    return record.get("outcome") in ("succeeded", "broken") or bool(record.get("wrong"))
