"""No attack succeeds against the sandbox, and honest programs are judged right in the same column."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from llmzoo.sandbox.attacks.groups import ATTACKS, HARMS
from llmzoo.sandbox.attacks.suite import is_failure, run_suite
from llmzoo.sandbox.attacks.world import PACKAGES as REPOSITORY

NAMES = [attack.name for attack in ATTACKS]
FEWEST = 60  # attacks that a column must have stopped, for its silence to mean anything
ME = "root" if os.geteuid() == 0 else "user"


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines on Linux only")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "column"),
    [
        *((ME, column) for column in ("L3", "L2", "L1")),
        ("user", "L3+processes"),
        ("user", "L3+check"),
        ("no-userns", "L2"),
        ("no-userns", "L1+calls"),
    ],
)
def test_no_attack_succeeds(who, column):
    records = list(run_suite(who, [column], NAMES))
    missing = [record["unavailable"] for record in records if "unavailable" in record]
    if missing:
        pytest.skip(missing[0])
    assert [record for record in records if is_failure(record)] == []
    tried = {record.get("attack") for record in records}
    # only programs that are run by themselves can be candidates of the judge too
    assert tried >= ({h.name for h in HARMS if h.mode == "run"} if "+c" in column else {*NAMES})
    assert sum(record.get("outcome") == "stopped" for record in records) >= FEWEST


@pytest.mark.long("every attack in 32 columns, including other sandboxes: ten minutes")
def test_the_whole_table():
    command = [sys.executable, "-m", "tests.attacks", "--rivals", "--processes", "--inside"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_attacks_have_names_of_their_own_and_are_programs():
    assert len(set(NAMES)) == len(NAMES)
    assert len(HARMS) >= 38
    assert len(NAMES) - len(HARMS) >= 40
    for attack in ATTACKS:
        compile(attack.program, attack.name, "exec") if attack.name != "swallowing-lines" else None
