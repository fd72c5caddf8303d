"""Ctrl-C of a launcher: its processes end the iteration together, and the run goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from llmzoo.models import tensor_io
from llmzoo.runs import checkpoints

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="this build of torch has no gloo"
    ),
]
STEPS = 10
SCRIPT = Path(__file__).with_name("rank_runs.py")
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
from pathlib import Path
from rank_runs import play
parallel, *runs = sys.argv[1:]
try:
    for run in runs:
        resume = Path(run).exists()
        play("at_grpo", Path(run), steps={STEPS}, resume=resume, record_every=5, parallel=parallel)
except KeyboardInterrupt:
    os.write(1, b"stopped\\n")  # at once: two processes write to one pipe
    sys.exit(130)
"""


def begin(folder: Path, parallel: str, *runs: str) -> subprocess.Popen:
    """Two processes that play the named runs; one that has been begun is resumed."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    launcher += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    return subprocess.Popen(
        [*launcher, str(program), parallel, *runs],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def steps(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_text().count('"kind": "train"') if file.exists() else 0


def weights(run: Path) -> dict[str, torch.Tensor]:
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    found = {}
    for file in sorted(newest.rglob("*.safetensors*")):
        name = file.name.partition(".safetensors")[0].partition("-0")[0]
        found |= {
            f"{file.parent.name}:{k}": v for k, v in tensor_io.load(file.parent, name).items()
        }
    return found


@pytest.mark.parametrize(
    "parallel",
    [
        "fsdp",  # all ranks save, so they must agree on where to stop
        pytest.param(
            "ddp", marks=pytest.mark.long("stopping a run in which one rank saves for all")
        ),
    ],
)
def test_both_processes_end_the_iteration(parallel, tmp_path):
    run = tmp_path / "run"
    process = begin(tmp_path, parallel, "run")
    deadline = time.monotonic() + 900
    while steps(run) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # torchrun's processes have sessions of their own
    out, err = process.communicate(timeout=600)
    assert out == "stopped\n" * 2, err[-3000:]
    reached = steps(run)
    assert 3 <= reached < STEPS
    assert checkpoints.latest_checkpoint(run / "checkpoints").name == f"step_{reached:06d}"
    resumed = begin(tmp_path, parallel, "run", "whole")
    _, err = resumed.communicate(timeout=900)
    assert resumed.returncode == 0, err[-3000:]
    ours, theirs = weights(run), weights(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    played = (run / "played.jsonl").read_bytes()
    assert played == (tmp_path / "whole" / "played.jsonl").read_bytes()
    shown = [json.loads(line)["step"] for line in played.decode().splitlines()]
    assert sorted(set(shown)) == [1, 5, 10]
