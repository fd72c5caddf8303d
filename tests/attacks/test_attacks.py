"""No attack succeeds against the sandbox, and honest programs are judged right beside them.

Here as the user who runs the tests; the slow test has every kind of user and the rivals too.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .__main__ import ATTACKS, is_failure, run
from .columns import LEVELS
from .harms import HARMS
from .world import REPOSITORY

NAMES = [attack.name for attack in ATTACKS]
FEWEST = 60  # that a column must have tried, for its silence to mean anything


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines on Linux only")
@pytest.mark.parametrize(
    "level", [pytest.param(n, marks=pytest.mark.slow) if n < max(LEVELS) else n for n in LEVELS]
)
@pytest.mark.slow
def test_no_attack_succeeds(level):
    who = "root" if os.geteuid() == 0 else "user"
    records = list(run(who, [f"L{level}"], NAMES))
    missing = [record["unavailable"] for record in records if "unavailable" in record]
    if missing:
        pytest.skip(missing[0])
    assert [record for record in records if is_failure(record)] == []
    assert {record.get("attack") for record in records} >= set(NAMES)
    assert sum(record.get("outcome") == "stopped" for record in records) >= FEWEST


@pytest.mark.slow
def test_the_whole_table():
    command = [sys.executable, "-m", "tests.attacks", "--rivals", "--processes", "--inside"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_attacks_are_told_apart():
    assert len(set(NAMES)) == len(NAMES)
    assert len(HARMS) >= 38
    assert len(NAMES) - len(HARMS) >= 40
    for attack in ATTACKS:
        compile(attack.program, attack.name, "exec") if attack.name != "swallowing-lines" else None
