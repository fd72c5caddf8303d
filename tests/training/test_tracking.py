"""A run's numbers reach metrics.jsonl, TensorBoard, and any other tracker by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer import event_file_writer
from tiny_models import policy
from toy_envs import Parity

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.models.sampling import Sampling
from llmzoo.training import fit
from llmzoo.training.log import progress_text
from llmzoo.training.tracking import Tracker, check_trackers


class Memory(GeneralTracker):
    """Keeps what it is told; as accelerate has them made: a project, and what else is asked for."""

    name = "memory"
    requires_logging_directory = False
    made: list[Memory] = []

    def __init__(self, *given: Any, **named: Any):
        super().__init__()
        self.given, self.named = given, named
        self.settings: dict = {}
        self.logged: list[tuple[int | None, dict]] = []
        self.state = "new"
        self.made.append(self)

    @property
    def tracker(self):
        return self

    def start(self):
        self.state = "started"

    def store_init_configuration(self, values):
        assert self.state == "started"
        self.settings = values

    def log(self, values, step=None, **kwargs):
        assert self.state == "started"
        self.logged.append((step, values))

    def finish(self):
        self.state = "finished"


@pytest.fixture
def memory(monkeypatch) -> type[Memory]:
    monkeypatch.setattr(Memory, "made", [])
    for name in ("memory", "wandb", "mlflow"):
        monkeypatch.setitem(LOGGER_TYPE_TO_CLASS, name, Memory)
    return Memory


@pytest.fixture(autouse=True)
def files_in_their_order(monkeypatch):
    """TensorBoard reads files of one second in the order of their names, in which 10 is before 9."""
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows: for each tag its points."""
    result = EventAccumulator(str(run / "tensorboard"))
    result.Reload()
    return {
        tag: [(event.step, event.value) for event in result.Scalars(tag)]
        for tag in result.Tags()["scalars"]
    }


def rows(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_tensorboard_shows_every_number_flattened(tmp_path):
    with Tracker(tmp_path, 0, 2, settings={}) as tracker:
        tracker.log_evaluation(0, {"success": 0.25, "greedy": {"success": 0.5}, "policy": "tiny"})
        tracker.log_iteration(1, {"loss": 1.5, "agents": {"a": {"turns": {"0": {"return": 3}}}}})
        tracker.log_iteration(2, {"loss": 0.5, "agents": {}, "over": True, "ci": [0.0, 1.0]})
    assert scalars(tmp_path) == {
        "eval/success": [(0, 0.25)],
        "eval/greedy/success": [(0, 0.5)],
        "train/loss": [(1, 1.5), (2, 0.5)],
        "train/agents/a/turns/0/return": [(1, 3.0)],
    }
    assert [(row["kind"], row["step"]) for row in rows(tmp_path)] == [
        ("eval", 0),
        ("train", 1),
        ("train", 2),
    ]


def test_what_a_resumed_run_writes_again_replaces_what_was_there(tmp_path):
    with Tracker(tmp_path, 0, 9, settings={}) as tracker:
        for step in (1, 2, 3, 4):
            tracker.log_iteration(step, {"loss": float(step)})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')  # killed in mid-line
    with Tracker(tmp_path, 2, 9, settings={}) as tracker:  # the checkpoint was of iteration 2
        tracker.log_iteration(3, {"loss": 30.0})
    assert scalars(tmp_path) == {"train/loss": [(1, 1.0), (2, 2.0), (3, 30.0)]}
    assert [(row["step"], row["loss"]) for row in rows(tmp_path)] == [(1, 1.0), (2, 2.0), (3, 30.0)]


def test_a_registered_tracker_hears_everything(tmp_path, memory):
    settings = {"env": "x", "seed": 3, "learner_args": {"clip": None}, "trackers": ("memory",)}
    with Tracker(tmp_path, 0, 1, trackers=["memory"], settings=settings) as tracker:
        tracker.log_iteration(1, {"return": {"a": 1, "b": 2.5}})
        tracker.log_evaluation(1, {"success": 0.5})
    (heard,) = memory.made
    assert heard.given == ("llmzoo",)
    assert heard.named == {}
    assert heard.settings == {
        "env": "x",
        "seed": 3,
        "learner_args/clip": None,
        "trackers": "('memory',)",
    }
    assert heard.logged == [
        (1, {"train/return/a": 1.0, "train/return/b": 2.5}),
        (1, {"eval/success": 0.5}),
    ]
    assert heard.state == "finished"
    assert not (tmp_path / "tensorboard").exists()
    assert len(rows(tmp_path)) == 2


def test_names_of_runs_and_projects(tmp_path, memory, monkeypatch):
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    run = tmp_path / "sudoku-7"
    run.mkdir()
    with Tracker(run, 0, 1, trackers=["wandb", "mlflow"], settings={}):
        one, other = memory.made
    assert (one.given, one.named) == (("mine",), {"name": "sudoku-7"})
    assert (other.given, other.named) == (("llmzoo",), {"run_name": "sudoku-7"})


def test_a_tracker_that_keeps_files_keeps_them_in_the_run(tmp_path, memory, monkeypatch):
    monkeypatch.setattr(memory, "requires_logging_directory", True)
    with Tracker(tmp_path, 0, 1, trackers=["memory"], settings={}):
        assert memory.made[0].given == ("llmzoo", tmp_path)


def test_trackers_that_cannot_be_had_are_refused(memory, monkeypatch):
    monkeypatch.setattr("llmzoo.training.tracking.get_available_trackers", lambda: [])
    with pytest.raises(ConfigError, match="'trackio' needs a package that is not installed: pip"):
        check_trackers(["trackio"])
    with pytest.raises(ConfigError, match="pip install tensorboard"):
        check_trackers(["tensorboard"])
    with pytest.raises(UnknownNameError, match="Did you mean 'tensorboard'"):
        check_trackers(["tensorbord"])
    with pytest.raises(ConfigError, match="named twice: memory, memory"):
        check_trackers(["memory", "memory"])
    check_trackers(["memory", "wandb"])  # registered classes need no package of accelerate's
    check_trackers([])


def run_with(tmp_path: Path, trackers: tuple[str, ...]) -> Path:
    run = tmp_path / "run"
    fit(
        "magrpo",
        Parity,
        out=run,
        policies={"writer_0": policy(sampling=Sampling(max_new_tokens=1))},
        steps=2,
        episodes_per_step=2,
        eval_tasks=2,
        trackers=trackers,
        quiet=True,
    )
    return run


def test_a_run_refuses_before_anything_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr("llmzoo.training.tracking.get_available_trackers", lambda: [])
    with pytest.raises(ConfigError, match="pip install wandb"):
        run_with(tmp_path, ("wandb",))
    assert not (tmp_path / "run").exists()


def test_a_run_tells_all_its_trackers_the_same(tmp_path, memory):
    run = run_with(tmp_path, ("tensorboard", "memory"))
    (heard,) = memory.made
    assert heard.settings["learner"] == "magrpo"
    assert heard.settings["episodes_per_step"] == 2
    shown = scalars(run)
    told: dict[str, list] = {}
    for step, values in heard.logged:
        for name, value in values.items():
            told.setdefault(name, []).append((step, pytest.approx(value, rel=1e-6)))
    assert shown == told
    written = [row for row in rows(run) if row["kind"] == "train"]
    assert shown["train/tokens"] == [(row["step"], row["tokens"]) for row in written]
    assert shown["train/agents/writer_0/turns/0/return"] == [
        (row["step"], pytest.approx(row["agents"]["writer_0"]["turns"]["0"]["return"]))
        for row in written
    ]


def test_metrics_are_written_without_any_tracker(tmp_path):
    run = run_with(tmp_path, ())
    assert [row["step"] for row in rows(run)] == [0, 1, 2, 2]
    assert not (run / "tensorboard").exists()


def test_the_bar_says_success_or_else_the_return():
    row = {"success": 0.25, "return": {"a": 1.0, "b": 2.0}, "tokens_per_second": 1234.5}
    assert progress_text(row) == "success 25%  1,234 tokens/s"
    assert progress_text({**row, "success": 0.0}) == "success 0%  return 1.500  1,234 tokens/s"
