"""``pytest --minutes``: the option that keeps a run of slow tests within a time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def outcome(*options):
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *options]
    chosen = [str(TESTS / "test_spaces.py"), str(TESTS / "test_thoughts.py")]
    return subprocess.run([*command, *chosen], capture_output=True, text=True, cwd=TESTS.parent)


def test_what_is_not_reached_is_skipped_and_said():
    done = outcome("--minutes", "0", "-o", "addopts=")
    assert done.returncode == 0
    assert re.search(r"SKIPPED \[\d+\] .*not reached in 0 minutes", done.stdout)
    assert " passed" not in done.stdout


def test_what_is_reached_runs():
    done = outcome("--minutes", "5", "-o", "addopts=")
    assert done.returncode == 0
    assert re.search(r"\d+ passed", done.stdout)
    assert "not reached" not in done.stdout
