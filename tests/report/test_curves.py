"""A run's learning curve."""

import json

import pytest
from matplotlib.axes import Axes

from llmzoo.report.curves import plot_run

CONFIG = {"learner": "grpo", "env": "sudoku_v0", "model": "tiny", "seed": 0}


@pytest.fixture
def lines(monkeypatch):
    """What is drawn: label -> values."""
    drawn = {}
    plot = Axes.plot

    def watched(axes, x, y, *args, **options):
        drawn[options["label"]] = list(y)
        return plot(axes, x, y, *args, **options)

    monkeypatch.setattr(Axes, "plot", watched)
    return drawn


def picture(folder, trained):
    (folder / "config.json").write_text(json.dumps(CONFIG))
    rows = [{"kind": "train", "step": n, **row} for n, row in enumerate(trained, start=1)]
    rows += [
        {"kind": "eval", "step": step, "success": 0.5, "success_ci95": [0.4, 0.6], "tasks": 100}
        for step in (0, len(trained))
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = plot_run(folder)
    assert path == folder / "curve.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_success_in_play(tmp_path, lines):
    picture(tmp_path, [{"success": n / 30, "return": {"a_0": 1.0}} for n in range(30)])
    assert lines["in play, each batch"] == [n / 30 for n in range(30)]
    # the mean of a tenth of 30 iterations, and of what there is at the start
    assert lines["in play, mean of 3"][:3] == pytest.approx([0, 0.5 / 30, 1 / 30])
    assert lines["in play, mean of 3"][29] == pytest.approx(28 / 30)


def test_demonstrations_are_called_so(tmp_path, lines):
    row = {"success": 1.0, "return": {"a_0": 1.0}, "demonstrated_tokens": 12}
    picture(tmp_path, [row, row])
    assert lines == {"of demonstrations": [1.0, 1.0]}  # too short a run for a running mean


def test_a_run_that_plays_nothing_has_its_evaluations(tmp_path, lines):
    picture(tmp_path, [{"success": 0.0, "return": {}}])
    assert lines == {}
