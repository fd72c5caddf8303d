"""Runs attacks in every column that is asked for, and yields what came of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from llmzoo.sandbox.attacks import fakes, harms
from llmzoo.sandbox.attacks.attack import Attack
from llmzoo.sandbox.attacks.columns import is_rival
from llmzoo.sandbox.attacks.world import PACKAGES

SUITE = "the suite itself"  # the attack of a record that says that the keeper died
# by the name of a group, "harms/reading"
GROUPS: dict[str, tuple[Attack, ...]] = {
    **{f"harms/{name}": attacks for name, attacks in harms.GROUPS.items()},
    **{f"fakes/{name}": attacks for name, attacks in fakes.GROUPS.items()},
}
ATTACKS: tuple[Attack, ...] = tuple(attack for group in GROUPS.values() for attack in group)


def run_suite(
    identity: str, columns: list[str], attacks: list[str], lanes: int = 4, seconds: float = 1e9
) -> Iterator[dict[str, Any]]:
    """What the keeper for this kind of user says, record by record; see keeper.py.

    ``attacks``: names, in the order to try them. ``seconds``: no attack begins after this time.
    """
    order = {
        "as": identity,
        "columns": columns,
        "attacks": attacks,
        "lanes": lanes,
        "seconds": seconds,
    }
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
        why = f"the keeper ended with {keeper.returncode}"
        yield {
            "as": identity,
            "column": columns[0],
            "attack": SUITE,
            "outcome": "broken",
            "why": why,
        }


def is_failure(record: dict[str, Any]) -> bool:
    """Whether a record says that the sandbox let an attack succeed, or judged a control wrong."""
    if is_rival(record.get("column", "")):
        return False
    return record.get("outcome") in ("succeeded", "broken") or bool(record.get("wrong"))
