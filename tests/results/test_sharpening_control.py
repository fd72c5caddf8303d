"""The control by a lower temperature: what is played, and which share of a gain it explains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def test_the_start_plays_what_the_study_measured():
    from answers import CELLS_ONE, TWO
    from sharpening_control import form_of

    assert form_of(TWO) == {
        "model": "tiny",
        "env": "sudoku_v0",
        "env_args": {"max_turns": 4},
        "tasks": 200,
        "max_new_tokens": 64,
    }
    assert form_of(CELLS_ONE) is None  # its start takes an hour to make


def test_the_share_of_a_gain_is_that_of_the_best_temperature(monkeypatch, tmp_path):
    """Worked out: 20% before, 30%, 50% and 40% at lower temperatures, 80% after: 30 of 60 points."""
    import sharpening_control as control

    form = {"model": "tiny", "env": "one", "env_args": {}, "tasks": 10, "max_new_tokens": 4}
    arm = control.Arm("study", "one", "arm", 2, "one task")
    runs = [{"before": {"success": 0.2}, "after": {"success": rate}} for rate in (0.7, 0.9)]
    monkeypatch.setattr(control, "ARMS", (arm,))
    monkeypatch.setattr(control, "form_of", lambda arm: form)
    monkeypatch.setattr(control, "runs_of", lambda logs, arm: runs)
    rates = {0.5: 0.3, 0.3: 0.5, 0.1: 0.4}
    rows = [{**form, "temperature": t, "seed": 0, "success": rate} for t, rate in rates.items()]
    (tmp_path / control.LOG.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    *_, line = control.table(tmp_path).splitlines()
    assert line == "| one task | 2 | 20.0 | 30.0 | 50.0 | 40.0 | 80.0 | 50% |"
