"""The examples for TRL, as they stand."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "adapters"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [("trl_environment_factory.py", "return "), ("trl_rollout_func.py", "by agent ")],
)
def test_example_trains(name, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert capsys.readouterr().out.count(says) == 3
