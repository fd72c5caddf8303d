"""A run on two processes is the run on one, whole or sharded; and either goes on as the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from fake_vllm_server import serving
from float64 import LIMIT
from rank_runs import RUNS, SMALL, STEPS, play, players

from llmzoo.models import tensor_io

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="this build of torch has no gloo"
    ),
]
# the runs of `make test-all`. Sharded: each way to hold models beside the policy (references, critics,
# heads, adapters, teachers), which is divided, gathered and saved in its own way, and a rank without an
# episode. Whole: what ranks add up over their batches, which is the same however weights are held
CHOSEN = {
    "fsdp": ["magrpo", "at_grpo", "ippo", "ippo_head", "mappo", "dpo", "opd", "few", "named_mixed"],
    "ddp": ["magrpo", "ippo", "sft", "madpo", "gdpo", "opd_lora", "per_agent", "curriculum"],
}
REST = pytest.mark.long("the full matrix of runs, replicated and sharded")
RESUMED = ("magrpo", "ippo")


def on_two(folder: Path, parallel: str, *names: str) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    script = str(Path(__file__).with_name("rank_runs.py"))
    done = subprocess.run(
        [*command, script, str(folder), parallel, *names],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
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


@dataclass
class Launch:
    """What a launcher's two processes have left, and what each one's server of vLLM was asked."""

    folder: Path
    requested: list[list[str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def launched(tmp_path_factory, alone):
    """The chosen runs on two processes, all by one launcher, and what else is begun there."""
    launches: dict[str, Launch] = {}

    def launch(parallel: str) -> Launch:
        if parallel not in launches:
            folder = tmp_path_factory.mktemp(parallel)
            for name in RESUMED:
                shutil.copytree(alone(name), folder / "resumed" / name)
            players("shared")["writer_0"].save(folder / "start")
            with serving(folder / "start") as one, serving(folder / "start") as other:
                more = (*(f"{name}:resume" for name in RESUMED), f"magrpo:{one.url},{other.url}")
                on_two(folder, parallel, *CHOSEN[parallel], *more)
                launches[parallel] = Launch(folder, [one.paths(), other.paths()])
        return launches[parallel]

    return launch


@pytest.fixture(scope="module")
def together(tmp_path_factory, launched):
    """The folder of a run on two processes; those that are not chosen are played on their own."""
    folders: dict[str, Path] = {}

    def run(name: str, parallel: str) -> Path:
        if name in CHOSEN[parallel]:
            return launched(parallel).folder / name
        if parallel not in folders:
            folders[parallel] = tmp_path_factory.mktemp(f"{parallel}-rest")
            rest = (name for name in RUNS if name not in CHOSEN[parallel])
            on_two(folders[parallel], parallel, *rest)
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
            found |= {f"{place}:{k}": v for k, v in tensor_io.load(file.parent, name).items()}
    return found


def rows(run: Path) -> list[dict]:
    found = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [row for row in found if row["kind"] == "train"]


@pytest.mark.parametrize(
    ("name", "parallel"),
    [
        pytest.param(name, parallel, marks=() if name in CHOSEN[parallel] else REST)
        for parallel in CHOSEN
        for name in RUNS
    ],
)
def test_two_processes_equal_one(name, parallel, alone, together):
    """In float64 every weight, to 1e-9.

    A gradient that should be 0 is then at most 1e-15, of which AdamW, whose epsilon is 1e-8, makes
    1e-7 of a step: 1e-11. In float32 it may be as large as epsilon, and makes half a step.
    """
    one, two = alone(name), together(name, parallel)
    start, mine, theirs = weights(one, 1), weights(one, STEPS), weights(two, STEPS)
    assert mine.keys() == theirs.keys()
    moved = max(float((mine[key] - start[key]).abs().max()) for key in mine)
    assert moved > 5e-5  # half a step
    for key, weight in mine.items():
        assert float((weight - theirs[key]).abs().max()) < LIMIT, key
    for row, other in zip(rows(one), rows(two), strict=True):
        same = ("success", "return", "tokens", "completions", "groups", "env_steps")
        assert {k: row[k] for k in same} == {k: other[k] for k in same}
    tasks = SMALL.get(name, {}).get("eval_tasks", 3)
    assert json.loads((two / "after.json").read_text())["tasks"] == tasks


def test_processes_remember_the_same_results_of_tasks(alone, together):
    one, two = (
        json.loads((run / "checkpoints" / f"step_{STEPS:06d}" / "curriculum.json").read_text())
        for run in (alone("curriculum"), together("curriculum", "ddp"))
    )
    assert one == two
    assert sum(map(len, one.values())) == 5 * STEPS  # five episodes an iteration


@pytest.mark.parametrize("after", ["one", "two"])
@pytest.mark.parametrize("name", RESUMED)
def test_a_run_goes_on_on_another_number_of_processes(name, after, alone, launched, tmp_path):
    """One step more: from sharded checkpoints on one process, and from whole ones on two."""
    wanted, found = tmp_path / "wanted", launched("fsdp").folder / "resumed" / name
    shutil.copytree(alone(name), wanted)
    play(name, wanted, resume=True, steps=STEPS + 1)
    if after == "one":
        found = tmp_path / "found"
        shutil.copytree(launched("fsdp").folder / name, found)
        play(name, found, resume=True, steps=STEPS + 1)
    before, mine, theirs = (
        weights(wanted, STEPS),
        weights(wanted, STEPS + 1),
        weights(found, STEPS + 1),
    )
    assert mine.keys() == theirs.keys()
    assert any(not torch.equal(mine[key], weight) for key, weight in before.items())
    for key, weight in mine.items():
        assert float((weight - theirs[key]).abs().max()) < LIMIT, key


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_each_process_samples_from_a_server_of_its_own(parallel, launched):
    for paths in launched(parallel).requested:
        assert len([path for path in paths if path.endswith("/completions")]) > 10
        # at the start, and after each update
        assert len([path for path in paths if path.endswith("/collective_rpc")]) == 1 + STEPS
    run = launched(parallel).folder / "served" / "magrpo"
    moved, before = weights(run, STEPS), weights(run, 1)
    assert any(not torch.equal(moved[key], before[key]) for key in moved)


def test_a_sharded_checkpoint_is_two_files_that_transformers_loads(together):
    from transformers import AutoModelForCausalLM

    checkpoint = together("magrpo", "fsdp") / "checkpoints" / f"step_{STEPS:06d}"
    (policy,) = (folder for folder in checkpoint.iterdir() if folder.is_dir())
    files = sorted(path.name for path in policy.glob("*.safetensors"))
    assert files == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    loaded = AutoModelForCausalLM.from_pretrained(policy).state_dict()
    for name, weight in tensor_io.load(policy, "model").items():
        assert torch.equal(loaded[name], weight)
