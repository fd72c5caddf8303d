"""Ctrl-C in a run: the iteration ends, a checkpoint is kept, and the run goes on from there exactly."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo.cli import main
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs import checkpoints
from llmzoo.training import fit, fit_stages
from llmzoo.training.interrupt import STOPPING_MESSAGE, graceful_shutdown

SMALL = {
    "episodes_per_step": 2,
    "eval_tasks": 2,
    "max_new_tokens": 3,
    "trackers": (),
    "record_every": 2,
}


class Pressed(Parities):
    """Presses Ctrl-C in the middle of its answers: the ``at``-th episodes that are played."""

    at: tuple[int, ...] = ()
    played = 0

    def apply(self, state, actions):
        Pressed.played += 1
        if Pressed.played in Pressed.at:
            signal.raise_signal(signal.SIGINT)
        return super().apply(state, actions)


@pytest.fixture(autouse=True)
def pythons_own_handlers():
    """Tests may run in the background, where SIGINT is ignored, or after a library that took SIGTERM."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in defaults.items()}
    yield
    for number, handler in before.items():
        if handler is not None:  # one that is not Python's
            signal.signal(number, handler)


@pytest.fixture
def press():
    """``press(9, 10)``: Ctrl-C in the 9th and in the 10th step that environments make from now on."""

    def set_to(*at: int) -> None:
        Pressed.at, Pressed.played = at, 0

    yield set_to
    set_to()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(path)
    return str(path)


def run(folder: str, out: Path, learner: str = "mappo", **settings) -> Path:
    given = {"steps": 5, "checkpoint_every": 2, "quiet": True, **SMALL, **settings}
    fit(learner, "test_interrupt:Pressed", out=out, model=folder, **given)
    return out


def kept(run: Path) -> dict[str, bytes]:
    """Every file of the newest checkpoint, and what was played, by its path."""
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    assert newest is not None
    paths = [path for path in newest.rglob("*") if path.is_file()]
    result = {str(path.relative_to(run)): path.read_bytes() for path in paths}
    return {**result, "played": (run / "played.jsonl").read_bytes()}


def rows(run: Path) -> list[dict]:
    """Metrics without what depends on the clock."""
    timed = ("seconds", "per_second")
    result = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if not k.endswith(timed)} for r in result]


def newest(run: Path) -> str:
    result = checkpoints.latest_checkpoint(run / "checkpoints")
    return "" if result is None else result.name


def same(one: Path, other: Path) -> None:
    assert kept(one) == kept(other)
    assert rows(one) == rows(other)
    for name in ("before.json", "after.json"):
        ours, theirs = (json.loads((run / name).read_text()) for run in (one, other))
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Path:
    """A run that nobody has disturbed. It makes 2 x 2 steps before, and 2 in each iteration."""
    return run(folder, tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.slow
def test_the_first_lets_the_iteration_end(press, folder, whole, tmp_path, capsys):
    out = tmp_path / "run"
    press(9)  # the first of two steps in the third iteration
    with pytest.raises(KeyboardInterrupt):
        run(folder, out, quiet=False)
    assert Pressed.played == 10
    assert newest(out) == "step_000003"
    assert [row["step"] for row in rows(out)] == [0, 1, 2, 3]
    said = " ".join(capsys.readouterr().err.split())
    assert STOPPING_MESSAGE in said
    assert "stopped after iteration 3; its checkpoint is saved" in said
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not (out / "after.json").exists()
    run(folder, out, resume=True)
    same(out, whole)


@pytest.mark.slow
def test_a_second_one_stops_at_once(press, folder, whole, tmp_path):
    out = tmp_path / "run"
    press(9, 10)
    with pytest.raises(KeyboardInterrupt):
        run(folder, out)
    assert newest(out) == "step_000002"
    assert [row["step"] for row in rows(out)] == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run(folder, out, resume=True)
    same(out, whole)


@pytest.mark.slow
def test_in_the_last_iteration_the_evaluation_is_left_for_later(press, folder, whole, tmp_path):
    out = tmp_path / "run"
    press(14)
    with pytest.raises(KeyboardInterrupt):
        run(folder, out)
    assert Pressed.played == 14
    assert newest(out) == "step_000005"
    run(folder, out, resume=True)
    same(out, whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "reached"), [(2, ""), pytest.param(16, "step_000005", marks=pytest.mark.slow)]
)
def test_evaluations_before_and_after_stop_at_once(at, reached, press, folder, whole, tmp_path):
    out = tmp_path / "run"
    press(at)
    with pytest.raises(KeyboardInterrupt):
        run(folder, out)
    assert Pressed.played == at
    assert newest(out) == reached
    run(folder, out, resume=True)
    same(out, whole)


@pytest.mark.slow
def test_an_evaluation_in_the_run_is_not_lost(press, folder, tmp_path):
    """Pressed in it, it ends; the checkpoint comes after it, for a resumed run would not repeat it."""
    settings = {"eval_every": 1, "steps": 2}
    undisturbed = run(folder, tmp_path / "undisturbed", **settings)
    press(8)  # before: 4, the first iteration: 2, its evaluation: 4
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(folder, out, **settings)
    assert Pressed.played == 10
    assert newest(out) == "step_000001"
    run(folder, out, **settings, resume=True)
    same(out, undisturbed)


@pytest.mark.slow
def test_play_that_runs_ahead(press, folder, tmp_path):
    undisturbed = run(folder, tmp_path / "undisturbed", "at_grpo", max_off_policy_steps=1)
    out = tmp_path / "run"
    press(30)
    with pytest.raises(KeyboardInterrupt):
        run(folder, out, "at_grpo", max_off_policy_steps=1)
    assert newest(out) not in ("", "step_000005")
    run(folder, out, "at_grpo", max_off_policy_steps=1, resume=True)
    same(out, undisturbed)


@pytest.mark.slow
def test_a_stage_that_was_stopped_goes_on(press, folder, tmp_path):
    def stages(name: str) -> Path:
        fit_stages(
            [{"learner": "iac", "model": folder}, {"learner": "mappo"}],
            "test_interrupt:Pressed",
            out=tmp_path / name,
            resume=True,
            quiet=True,
            **{"steps": 2, **SMALL},
        )
        return tmp_path / name

    press()
    undisturbed = stages("undisturbed")
    steps = Pressed.played
    press(steps // 2 + 5)  # in the second stage's first iteration
    with pytest.raises(KeyboardInterrupt):
        stages("stopped")
    assert newest(tmp_path / "stopped" / "2-mappo") == "step_000001"
    stopped = stages("stopped")
    for stage in ("1-iac", "2-mappo"):
        assert kept(stopped / stage) == kept(undisturbed / stage)
        ours, theirs = rows(stopped / stage), rows(undisturbed / stage)
        folders = [row.pop("policy", None) for row in (*ours, *theirs)]  # where the model was
        assert {type(name) for name in folders} == {str, type(None)}
        assert ours == theirs


def test_the_signal_is_taken_only_where_python_s_own_handler_is():
    noted: list[str] = []
    with graceful_shutdown(noted.append) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        stop.requested = False
    heard: list[int] = []
    mine = lambda number, frame: heard.append(number)  # noqa: E731 one object, to compare with
    for handler in (mine, signal.SIG_IGN):
        before = signal.signal(signal.SIGINT, handler)
        try:
            with graceful_shutdown(noted.append) as stop:
                assert signal.getsignal(signal.SIGINT) is handler
                signal.raise_signal(signal.SIGINT)
                assert not stop.requested
        finally:
            signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    deadline = time.monotonic() + 60
    while not noted and time.monotonic() < deadline:
        time.sleep(0.01)
    assert noted == [STOPPING_MESSAGE]


def test_sigterm_is_taken_alike():
    noted: list[str] = []
    with graceful_shutdown(noted.append) as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        stop.requested = False
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with graceful_shutdown(noted.append) as stop:
            signal.raise_signal(signal.SIGTERM)
            assert not stop.requested
    finally:
        signal.signal(signal.SIGTERM, before)


def test_one_that_comes_too_late_for_the_loop_is_not_lost():
    with pytest.raises(KeyboardInterrupt), graceful_shutdown(lambda text: None):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), graceful_shutdown(lambda text: None):
        assert signal.raise_signal(signal.SIGINT) or 1 / 0  # an error of its own is not covered
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_may_train(folder, tmp_path):
    """Python lets the main thread alone handle signals: elsewhere a run does without."""
    raised: list[BaseException] = []

    def train() -> None:
        try:
            run(folder, tmp_path / "run", steps=1)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert raised == []
    assert newest(tmp_path / "run") == "step_000001"


def command(*arguments: object, cwd: Path) -> subprocess.Popen:
    """``llmzoo`` in a session of its own, as in a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "llmzoo", *map(str, arguments)],
        cwd=cwd,
        env={
            **os.environ,
            **{"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
            "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2])),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_from_the_command_line(folder, tmp_path, monkeypatch):
    """A real Ctrl-C in mid-run, and then the very command that it names."""
    given = f"--env test_interrupt:Pressed --learner mappo --model {folder} --episodes_per_step 2 --eval_tasks 2"
    given += " --max_new_tokens 3 --trackers [] --record_every 7 --steps 20"
    process = command("train", *given.split(), "--out", "a run", cwd=tmp_path)
    out = tmp_path / "a run"
    deadline = time.monotonic() + 600
    while not (out / "metrics.jsonl").exists() or not rows(out)[2:]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGINT)
    said, err = process.communicate(timeout=600)
    assert (process.returncode, said) == (130, "")
    last = rows(out)[-1]["step"]
    assert 2 <= last < 20
    assert newest(out) == f"step_{last:06d}"
    assert STOPPING_MESSAGE in " ".join(err.split())
    assert err.splitlines()[-2:] == [
        "to continue: llmzoo train --resume 'a run' --env test_interrupt:Pressed",
        "llmzoo: stopped",
    ]
    words = shlex.split(err.splitlines()[-2].removeprefix("to continue: llmzoo"))
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--quiet"]) == 0
    same(out, run(folder, tmp_path / "whole", steps=20, record_every=7))
    start = load_file(Path(folder) / "model.safetensors")
    end = load_file(
        checkpoints.latest_checkpoint(out / "checkpoints") / "policy" / "model.safetensors"
    )
    assert any(not torch.equal(start[name], end[name]) for name in start)
