"""The engine ray from the command line: what docs/ray.md shows, a kill from outside, Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from pages import ROOT, blocks, commands
from ray_toys import Looking
from safetensors.torch import load_file

from llmzoo.cli import main
from llmzoo.engine.ray import RayArgs
from llmzoo.engine.ray.cluster import import_ray, reserve_resources, start_local_cluster
from llmzoo.errors import ConfigError
from llmzoo.policies.transformers import TINY_FOLDER
from llmzoo.runs import checkpoints

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "ray.md"
SHOWN = [c for language, block, _ in blocks(PAGE) if language == "bash" for c in commands(block)]
ALONE = {
    **os.environ,
    **{"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    "RAY_worker_niceness": "0",  # other programs run too
}


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """``begin("train", ...)`` starts ``llmzoo`` in a session of its own, as in a terminal, and writes
    its output to files. After the test nothing of the session is left, even if the test fails."""
    begun = []

    def start(*arguments: str) -> subprocess.Popen:
        with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
            begun.append(
                subprocess.Popen(
                    [sys.executable, "-m", "llmzoo", *arguments],
                    cwd=tmp_path,
                    env=ALONE,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            )
        return begun[-1]

    yield start
    for process in begun:
        for pid in processes(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes(session: int) -> dict[int, str]:
    """Those of a session that are alive, with their command lines."""
    results = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, _, its = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has ended meanwhile
            if int(its) == session and state != "Z":
                results[int(folder.name)] = command
    return results


def waited_for(what, process: subprocess.Popen, seconds: float = 900) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "too late"
        assert process.poll() is None, "it has ended"
        time.sleep(0.1)


def iterations(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_text().count('"kind": "train"') if file.exists() else 0


def test_what_the_page_shows(begin, tmp_path, monkeypatch, capsys):
    """Role-specialised policies train on a cluster of 2 CPUs, and the run goes on either way."""
    (shown,) = [block for language, block, _ in blocks(PAGE) if language == "yaml"]
    (tmp_path / "ray.yaml").write_text(shown)
    run = tmp_path / "runs" / "ray"
    first, *later = (shlex.split(c)[1:] for c in SHOWN if "runs/ray" in c)
    process = begin(*first, "--json")
    assert process.wait(timeout=900) == 0, (tmp_path / "err").read_text()
    assert processes(process.pid) == {}
    (line,) = (tmp_path / "out").read_text().splitlines()
    assert json.loads(line)["steps"] == iterations(run) == 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_worker_niceness", "0")
    for steps, command in enumerate(later, start=3):
        assert main([*command, "--json"]) == 0  # in this process
        (line,) = capsys.readouterr().out.splitlines()
        assert json.loads(line)["steps"] == iterations(run) == steps
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    start = load_file(TINY_FOLDER / "model.safetensors")
    ends = [load_file(newest / name / "model.safetensors") for name in ("proposer_0", "planner_1")]
    for weights in (start, ends[1]):
        assert any(not torch.equal(weights[name], ends[0][name]) for name in ends[0])


def test_a_killed_worker_is_not_heard_of_and_ctrl_c_leaves_nothing(begin, tmp_path):
    run = tmp_path / "run"
    options = (
        "--engine ray --env plan_path_v0 --env.max_turns 1 --episodes_per_step 2 --steps 100000"
    )
    process = begin("train", *options.split(), "--eval_tasks", "2", "--out", "run", "--quiet")
    waited_for(lambda: iterations(run) >= 2, process)
    workers = [p for p, c in processes(process.pid).items() if c.startswith("ray::RolloutWorker")]
    (worker,) = workers
    os.kill(worker, signal.SIGKILL)
    before = iterations(run)
    waited_for(lambda: iterations(run) >= before + 3, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) == 130
    deadline = time.monotonic() + 200
    while (left := processes(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == {}
    # the iteration that was under way has ended, and is kept
    assert checkpoints.latest_checkpoint(run / "checkpoints").name == f"step_{iterations(run):06d}"
    assert (tmp_path / "out").read_text() == ""
    assert (tmp_path / "err").read_text() == (
        "to continue: llmzoo train --resume run\nllmzoo: stopped\n"
    )


@pytest.fixture
def on_sigterm() -> Iterator[Callable[[int, object], None]]:
    """A handler of SIGTERM that is set while a test runs; Ray's own does not outlive the test."""

    def handler(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGTERM, handler)
    yield handler
    signal.signal(signal.SIGTERM, before)


def test_the_process_keeps_its_handler_of_sigterm(on_sigterm):
    """With Ray's, SIGTERM would end a run without a checkpoint, and any later one in this process."""
    start_local_cluster(cpus=1)
    connected = signal.getsignal(signal.SIGTERM)
    import_ray().shutdown()
    assert on_sigterm is connected is signal.getsignal(signal.SIGTERM)


def test_workers_share_a_gpu_by_parts(monkeypatch, on_sigterm):
    """Ray is told of a GPU that is not there; that one is given out in parts, and not beyond it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    ray = import_ray()
    ray.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    try:
        half = RayArgs(rollout_gpus=0.5, update_gpus=0.5)
        with reserve_resources(half.bundles(1), half) as room:
            workers = [room.make_starter(Looking, number)(0) for number in range(2)]
            assert ray.get([worker.gpus.remote() for worker in workers]) == ["0", "0"]
        more = RayArgs(rollout_gpus=0.5, update_gpus=0.6, start_seconds=1)
        told = r"need 2 CPU, 1.1 GPU \(PACK\), the cluster has 2 CPU, 1 GPU"
        with pytest.raises(ConfigError, match=told), reserve_resources(more.bundles(1), more):
            pass
    finally:
        ray.shutdown()
