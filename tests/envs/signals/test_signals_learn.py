"""A pair finds a code for signal_v0 from the embedded model, with the settings of the committed file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llmzoo.cli import main

CONFIG = Path(__file__).resolve().parents[3] / "configs" / "environments" / "signals.yaml"


@pytest.mark.long("two agents learn a code for a minute")
def test_a_pair_learns_a_code(tmp_path):
    """Chance is 25%, and the untrained model writes nothing that can be read. After 30 steps magrpo has 86%."""
    out = tmp_path / "run"
    options = ["--learner", "magrpo", "--steps", "30", "--out", str(out), "--quiet"]
    assert main(["train", "--config", str(CONFIG), *options]) == 0
    before, after = (json.loads((out / f"{when}.json").read_text()) for when in ("before", "after"))
    assert before["success"] < 0.05
    assert after["success"] > 0.7
