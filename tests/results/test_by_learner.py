"""Tables and curves of every learner on every environment, from made-up runs with worked-out numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def row(arm, seed, after, *, task="sudoku_v0", rate=1e-4, curve=(0.0,)):
    measured = {"tasks": 4, "ids": list("abcd")}
    return {
        **{"task": task, "arm": arm, "seed": seed},
        "settings": {"learner": arm, "learner_args": {"learning_rate": rate}},
        "before": {**measured, "success": 0.25, "solved": "1000"},
        "after": {**measured, "success": after.count("1") / 4, "solved": after},
        "curve": [{"tokens": 10, "success": success} for success in curve],
    }


def cells(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_runs_are_pooled_over_seeds_and_missing_ones_are_named():
    import by_learner

    rows = [row("magrpo", 0, "1100"), row("magrpo", 1, "1111"), row("ppo", 0, "0000")]
    rows.append({"task": "sudoku_v0", "arm": "ippo", "seed": 0, "error": "diverged"})
    found = {line[0]: line[1] for line in cells(by_learner.tables(rows)["learners"])[2:]}
    assert found["two agents, before"].startswith("25.0%")
    assert found["one agent, before"].endswith("1 seed")
    assert found["`magrpo`"].startswith("75.0%")
    assert "seed" not in found["`magrpo`"]
    assert found["`ppo`"].startswith("0.0%")
    assert found["`ppo`"].endswith(", 1 seed")
    assert found["`ippo`"] == "failed"


def test_the_rate_of_long_runs_is_judged_by_the_last_third_of_training(tmp_path):
    import by_learner
    from logs import write_log

    write_log(
        tmp_path / "learners_rates.jsonl.gz",
        [row("magrpo", 0, "1000", rate=1e-4), row("magrpo", 0, "1110", rate=3e-4)],
    )
    write_log(
        tmp_path / "learners_rates_long.jsonl.gz",
        [row("magrpo", 0, "0000", rate=3e-4, curve=(1, 1, 1, 1, 0.5, 0))],
    )
    used = row("magrpo", 0, "0000", rate=1e-4, curve=(0, 0, 0, 0, 0.75, 0.5))
    write_log(tmp_path / "learners.jsonl.gz", [used, {**used, "seed": 1}])
    head, _, line = cells(by_learner.rates(tmp_path)["learners rates"])
    assert head == ["", "0.0001, 20k", "0.0003, 20k", "0.0001, 100k", "0.0003, 100k", "chosen"]
    assert line == ["`magrpo`", "25.0%", "75.0%", "62.5%", "25.0%", "0.0001"]


def test_a_grid_names_its_settings_and_marks_the_best_of_each_arm():
    from tuning import grid

    rows = [
        {**row("magrpo", 0, "1000", rate=1e-4, curve=(0, 0, 0.25)), "task": "slow"},
        {**row("magrpo", 0, "1000", rate=5e-4, curve=(1, 1, 0.5)), "task": "fast"},
        {**row("ippo", 0, "1000", rate=1e-4, curve=(0, 0, 0.75)), "task": "slow"},
    ]
    for each in rows:
        each["settings"]["env"] = "sudoku_v0"
        each["settings"]["learner_args"]["kl"] = 0.05
    rows[1]["settings"]["learner_args"]["minibatches"] = 4
    head, _, *lines = cells(grid(rows)["grid sudoku_v0"])
    assert head == ["", "rate 0.0001, KL 0.05", "rate 0.0005, KL 0.05, 4 updates a batch"]
    assert lines == [["`magrpo`", "25.0%", "**50.0%**"], ["`ippo`", "**75.0%**", "not run"]]


def test_a_curve_is_the_mean_of_a_tenth_of_its_tokens():
    import by_learner

    tokens, success = by_learner.smoothed(row("magrpo", 0, "0000", curve=[0.0] * 10 + [1.0] * 10))
    assert (tokens[0], tokens[-1]) == (20, 200)
    np.testing.assert_allclose(success[[0, -1]], [0, 1])
    assert success[tokens <= 100].max() == 0
    assert success[tokens >= 120].min() == 1
