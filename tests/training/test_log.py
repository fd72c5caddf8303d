"""What a run says while it trains where there is no terminal."""

from __future__ import annotations

import pytest

from llmzoo.training import fit, log


@pytest.mark.slow
def test_without_a_terminal_there_is_a_line_each_minute(tmp_path, monkeypatch, capfd):
    options = {"env": "sudoku_v0", "env_args": {"max_turns": 1}, "learner": "magrpo", "steps": 3}
    options |= {"episodes_per_step": 1, "eval_tasks": 1, "trackers": (), "max_new_tokens": 4}
    assert log._NOTE_INTERVAL_S == 60.0
    monkeypatch.setattr(
        log, "_NOTE_INTERVAL_S", 3600.0
    )  # so that no minute passes on a busy machine
    fit(**options, out=tmp_path / "seldom")
    assert "iteration 1 of 3" not in capfd.readouterr().err
    monkeypatch.setattr(log, "_NOTE_INTERVAL_S", 0.0)
    fit(**options, out=tmp_path / "often")
    said = capfd.readouterr().err
    assert [f"iteration {n} of 3  success" in said for n in (1, 2, 3)] == [True] * 3
    fit(**options, out=tmp_path / "quiet", quiet=True)
    assert "iteration" not in capfd.readouterr().err
