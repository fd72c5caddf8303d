"""A run's learning curve."""

import json

from llmzoo.report.curves import plot_run


def test_a_picture_of_a_run(tmp_path):
    config = {"learner": "grpo", "env": "sudoku_v0", "model": "tiny", "seed": 0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    rows = [{"kind": "train", "step": step, "success": step / 30} for step in range(1, 31)]
    rows += [
        {"kind": "eval", "step": step, "success": 0.5, "success_ci95": [0.4, 0.6], "tasks": 100}
        for step in (0, 30)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = plot_run(tmp_path)
    assert path == tmp_path / "curve.png"
    assert path.read_bytes().startswith(b"\x89PNG")
