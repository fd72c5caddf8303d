"""The embedded model learns to set sums that it can solve, with the settings of the committed file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from llmzoo.cli import main

CONFIG = Path(__file__).resolve().parents[3] / "configs" / "environments" / "proposing.yaml"
STEPS = (40, 28)  # of the file's 60 and 40


@pytest.mark.long("two models learn for a minute and a half")
def test_a_proposer_and_its_solver_both_earn_more(tmp_path):
    config = yaml.safe_load(CONFIG.read_text())
    for stage, steps in zip(config["stages"], STEPS, strict=True):
        stage["steps"] = steps
    shorter, out = tmp_path / "shorter.yaml", tmp_path / "run"
    shorter.write_text(yaml.safe_dump(config))
    assert main(["train", "--config", str(shorter), "--out", str(out), "--quiet"]) == 0
    before, after = (
        json.loads((out / "2-magrpo" / f"{when}.json").read_text())["mean_return"]
        for when in ("before", "after")
    )
    assert before["proposer_0"] < 0.2
    assert after["proposer_0"] > before["proposer_0"] + 0.1
    assert after["solver_1"] > before["solver_1"] + 0.15
