"""Every example runs as it stands."""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import pytest

from llmzoo import registry

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAYS = {
    "quickstart.py": "oracle: success 100.0%",
    "own_environment.py": "success=1.0",
    "own_learner.py": "after",
    "train_separate_seats.py": "only planner_1 trained",
}


@pytest.mark.parametrize("name", SAYS)
def test_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))  # forget what it registers
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Overriding environment")  # PettingZoo keeps it
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out


def test_all_examples_are_here_and_short():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)
    for name in SAYS:
        lines = len((EXAMPLES / name).read_text().splitlines())
        assert lines < 60, f"{name}: {lines} lines"
