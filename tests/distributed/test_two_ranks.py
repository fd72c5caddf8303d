"""A run on two processes is the run on one, whole or sharded; and either goes on as the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fake_vllm_server import serving
from float64 import LIMIT
from rank_runs import RUNS, SMALL, play, players

from llmzoo.policies import stored

pytestmark = [
    pytest.mark.numeric,
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="this build of torch has no gloo"
    ),
]


def on_two(folder: Path, parallel: str, *names: str) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    script = str(Path(__file__).with_name("rank_runs.py"))
    done = subprocess.run(
        [*command, script, str(folder), parallel, *names],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    ranked = [line for line in done.stderr.splitlines() if line.startswith("[rank")]
    assert done.returncode == 0, "\n".join(ranked[-40:]) or done.stderr[-3000:]
    assert done.stdout == ""  # nothing but what was asked for
    assert "process group is initialized" not in done.stderr  # as transformers complains
    assert "threads of a process group are left" not in done.stderr  # they may abort the process


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of a run on one process, played when it is first asked for."""
    folder = tmp_path_factory.mktemp("alone")

    def run(name: str) -> Path:
        if not (folder / name).exists():
            play(name, folder / name)
        return folder / name

    return run


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The folder of runs on two processes, all played when the first is asked for."""
    folders: dict[str, Path] = {}

    def run(name: str, parallel: str) -> Path:
        if parallel not in folders:
            folders[parallel] = tmp_path_factory.mktemp(parallel)
            on_two(folders[parallel], parallel, *RUNS)
        return folders[parallel] / name

    return run


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    """All weights that a checkpoint holds: of policies, critics and references."""
    found = {}
    checkpoint = run / "checkpoints" / f"step_{step:06d}"
    for file in sorted(checkpoint.rglob("*.safetensors*")):
        name = file.name.partition(".safetensors")[0].partition("-0")[0]
        if not name.endswith("optimizer"):
            place = str(file.parent.relative_to(checkpoint) / name)
            found |= {f"{place}:{k}": v for k, v in stored.load(file.parent, name).items()}
    return found


def rows(run: Path) -> list[dict]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in found if row["kind"] == "train"]


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
@pytest.mark.parametrize("name", RUNS)
def test_two_processes_equal_one(name, parallel, alone, together):
    """In float64 every weight, to 1e-9.

    A gradient that should be 0 is then at most 1e-15, of which AdamW, whose epsilon is 1e-8, makes
    1e-7 of a step: 1e-11. In float32 it may be as large as epsilon, and makes half a step.
    """
    one, two = alone(name), together(name, parallel)
    start, mine, theirs = weights(one, 1), weights(one, 3), weights(two, 3)
    assert mine.keys() == theirs.keys()
    moved = max(float((mine[key] - start[key]).abs().max()) for key in mine)
    assert moved > 1e-4
    for key, weight in mine.items():
        assert float((weight - theirs[key]).abs().max()) < LIMIT, key
    for row, other in zip(rows(one), rows(two), strict=True):
        same = ("success", "return", "tokens", "completions", "groups", "env_steps")
        assert {k: row[k] for k in same} == {k: other[k] for k in same}
    tasks = SMALL.get(name, {}).get("eval_tasks", 3)
    assert json.loads((two / "after.json").read_text())["tasks"] == tasks


@pytest.mark.slow
def test_processes_remember_the_same_results_of_tasks(alone, together):
    one, two = (
        json.loads((run / "checkpoints" / "step_000003" / "curriculum.json").read_text())
        for run in (alone("curriculum"), together("curriculum", "ddp"))
    )
    assert one == two
    assert sum(map(len, one.values())) == 15  # three iterations of five episodes


RESUMED = ("magrpo", "ippo")


@pytest.mark.slow
@pytest.mark.parametrize("after", ["one", "two"])
def test_a_run_goes_on_on_another_number_of_processes(after, alone, together, tmp_path):
    """A fourth step: from sharded checkpoints on one process, and from whole ones on two."""
    for name in RESUMED:
        shutil.copytree(alone(name), tmp_path / "alone" / name)
        play(name, tmp_path / "alone" / name, resume=True, steps=4)
        started = together(name, "fsdp") if after == "one" else alone(name)
        shutil.copytree(started, tmp_path / "begun" / name)
        if after == "one":
            play(name, tmp_path / "begun" / name, resume=True, steps=4)
    if after == "two":
        on_two(tmp_path / "begun", "fsdp", *(f"{name}:resume" for name in RESUMED))
    for name in RESUMED:
        wanted, found = (weights(tmp_path / run / name, 4) for run in ("alone", "begun"))
        assert wanted.keys() == found.keys()
        before = weights(tmp_path / "alone" / name, 3)
        assert any(not torch.equal(wanted[key], weight) for key, weight in before.items())
        for key, weight in wanted.items():
            assert float((weight - found[key]).abs().max()) < LIMIT, key


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_each_process_samples_from_a_server_of_its_own(parallel, tmp_path, together):
    start = tmp_path / "start"
    player = players("shared")["writer_0"]
    player.save(start)
    with serving(start) as one, serving(start) as other:
        on_two(tmp_path, parallel, f"magrpo:{one.url},{other.url}")
        for served in (one, other):
            asked = [path for path in served.paths() if path.endswith("/completions")]
            told = [path for path in served.paths() if path.endswith("/collective_rpc")]
            assert len(asked) > 10
            assert len(told) == 4  # at the start, and after each update
    moved = weights(tmp_path / "magrpo", 3)
    before = weights(tmp_path / "magrpo", 1)
    assert any(not torch.equal(moved[key], before[key]) for key in moved)


def test_a_sharded_checkpoint_is_two_files_that_transformers_loads(tmp_path):
    from transformers import AutoModelForCausalLM

    on_two(tmp_path, "fsdp", "magrpo")
    checkpoint = tmp_path / "magrpo" / "checkpoints" / "step_000003"
    (policy,) = (folder for folder in checkpoint.iterdir() if folder.is_dir())
    files = sorted(path.name for path in policy.glob("*.safetensors"))
    assert files == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    loaded = AutoModelForCausalLM.from_pretrained(policy).state_dict()
    for name, weight in stored.load(policy, "model").items():
        assert torch.equal(loaded[name], weight)
