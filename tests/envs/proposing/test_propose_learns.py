"""The embedded model learns to set sums that it can solve, with the settings of the committed file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmzoo.cli import main

CONFIG = Path(__file__).resolve().parents[3] / "configs" / "environments" / "proposing.yaml"


@pytest.mark.long("two models learn for two minutes")
def test_a_proposer_and_its_solver_both_earn_more(tmp_path):
    """With the seeds 0, 1 and 2 the proposer earns 0.18, 0.10 and 0.14 more, the solver 0.25, 0.36 and 0.28."""
    out = tmp_path / "run"
    assert main(["train", "--config", str(CONFIG), "--out", str(out), "--quiet"]) == 0
    before, after = (
        json.loads((out / "2-magrpo" / f"{when}.json").read_text())["mean_return"]
        for when in ("before", "after")
    )
    assert before["proposer_0"] < 0.2
    assert after["proposer_0"] > before["proposer_0"] + 0.05
    assert after["solver_1"] > before["solver_1"] + 0.15
