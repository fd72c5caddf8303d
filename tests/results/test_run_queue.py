"""The queue of runs: which is next."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "results"
sys.path.insert(0, str(EXAMPLES))

import run_queue  # noqa: E402, in a folder that is no package
import study  # noqa: E402
from logs import read_log  # noqa: E402
from run_queue import (  # noqa: E402
    QueuedRun,
    add_measured,
    add_to_log,
    next_fitting,
    pending,
    read_queue,
)

QUEUE = """
- {question: A, study: one, runs: [t-x, t-y], seeds: [0, 1], minutes: 30, gpu_minutes: 5}
- {question: B, study: two, runs: [u-x], seeds: [2], minutes: 10, gpu_minutes: 1}
"""


def test_runs_stand_seed_after_seed_with_their_cost():
    names = [(run.study, run.name, run.minutes) for run in read_queue(QUEUE, gpu=False)]
    assert names == [
        ("one", "t-x-0", 30),
        ("one", "t-y-0", 30),
        ("one", "t-x-1", 30),
        ("one", "t-y-1", 30),
        ("two", "u-x-2", 10),
    ]
    assert [run.minutes for run in read_queue(QUEUE, gpu=True)] == [5, 5, 5, 5, 1]


def test_what_is_in_a_log_is_not_repeated(tmp_path):
    queue = read_queue(QUEUE, gpu=False)
    assert pending(queue, tmp_path) == queue
    add_to_log(tmp_path, "one", {"task": "t", "arm": "x", "seed": 0, "settings": {}})
    add_to_log(tmp_path, "one", {"task": "t", "arm": "y", "seed": 1, "settings": {}})
    assert [run.name for run in pending(queue, tmp_path)] == ["t-y-0", "t-x-1", "u-x-2"]
    assert [row["arm"] for row in read_log(tmp_path / "one.jsonl.gz")] == ["x", "y"]


def test_rows_of_a_gpu_are_added_once(tmp_path):
    row = {"task": "t", "arm": "x", "seed": 0, "settings": {}}
    file = tmp_path / "gpu.jsonl"
    rows = [
        {"name": "decode bf16", "seconds": 1},
        {"name": "study one t-x-0", "line": row},
        {"name": "study one t-y-0", "line": None, "error": "it failed"},
    ]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    add_measured(tmp_path, file)
    add_measured(tmp_path, file)
    assert read_log(tmp_path / "one.jsonl.gz") == [row]


def test_the_first_that_fits_the_time_is_next():
    queue = [QueuedRun("one", "long", 30), QueuedRun("two", "short", 10)]
    assert next_fitting(queue, 40).name == "long"
    assert next_fitting(queue, 20).name == "short"
    assert next_fitting(queue, 5) is None


def test_every_queued_run_is_of_its_study():
    queue = read_queue((run_queue.HERE / "queue.yaml").read_text(), gpu=False)
    assert len({(run.study, run.name) for run in queue}) == len(queue) > 30
    for name in {run.study for run in queue}:
        planned = {run.name for run in study.runs_of(study.read(name, quick=False), Path("models"))}
        assert {run.name for run in queue if run.study == name} <= planned


@pytest.mark.slow
def test_a_call_does_what_fits_and_logs_it(tmp_path, monkeypatch, capsys):
    queue = "- {question: Q, study: small, runs: [p-a], seeds: [0, 1], minutes: 1, gpu_minutes: 1}"
    (tmp_path / "queue.yaml").write_text(queue)
    settings = "{model: tiny, learner: magrpo, steps: 1, episodes_per_step: 1, eval_tasks: 2}"
    task = "{env: signal_v0, max_new_tokens: 4, record_every: 0}"
    (tmp_path / "small.yaml").write_text(
        f"{{seeds: [0, 1], settings: {settings}, tasks: {{p: {task}}}, arms: {{a: {{}}}}}}"
    )
    monkeypatch.setattr(run_queue, "HERE", tmp_path)
    monkeypatch.setattr(study, "HERE", tmp_path)
    monkeypatch.setattr(run_queue, "LOGS", tmp_path / "logs")
    arguments = ["run_queue.py", "--minutes", "30", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", arguments)
    run_queue.main()
    rows = read_log(tmp_path / "logs" / "small.jsonl.gz")
    assert [(row["arm"], row["seed"], row["after"]["tasks"]) for row in rows] == [
        ("a", 0, 2),
        ("a", 1, 2),
    ]
    monkeypatch.setattr("sys.argv", ["run_queue.py", "--list"])
    capsys.readouterr()
    run_queue.main()
    assert capsys.readouterr().out == ""
