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

from llmzoo.policies import stored
from llmzoo.training import checkpoints

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.distributed.is_gloo_available(), reason="this build of torch has no gloo"
    ),
]
STEPS = 30
SCRIPT = Path(__file__).with_name("rank_runs.py")
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
from pathlib import Path
from rank_runs import play
try:
    play("at_grpo", Path(sys.argv[1]), steps={STEPS}, resume=sys.argv[2] == "resume", record_every=5,
         parallel=sys.argv[3])
except KeyboardInterrupt:
    os.write(1, b"stopped\\n")  # at once: two processes write to one pipe
    sys.exit(130)
"""


def begin(folder: Path, run: str, how: str, parallel: str) -> subprocess.Popen:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    launcher += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    return subprocess.Popen(
        [*launcher, str(program), str(folder / run), how, parallel],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def steps(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_text().count('"kind": "train"') if file.exists() else 0


def weights(run: Path) -> dict[str, torch.Tensor]:
    newest = checkpoints.latest(run / "checkpoints")
    found = {}
    for file in sorted(newest.rglob("*.safetensors*")):
        name = file.name.partition(".safetensors")[0].partition("-0")[0]
        found |= {f"{file.parent.name}:{k}": v for k, v in stored.load(file.parent, name).items()}
    return found


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_both_processes_end_the_iteration(parallel, tmp_path):
    run = tmp_path / "run"
    process = begin(tmp_path, "run", "new", parallel)
    deadline = time.monotonic() + 200
    while steps(run) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # torchrun's processes have sessions of their own
    out, err = process.communicate(timeout=120)
    assert out == "stopped\n" * 2, err[-3000:]
    reached = steps(run)
    assert 3 <= reached < STEPS
    assert checkpoints.latest(run / "checkpoints").name == f"step_{reached:06d}"
    whole = begin(tmp_path, "whole", "new", parallel)
    assert whole.wait(timeout=280) == 0
    resumed = begin(tmp_path, "run", "resume", parallel)
    _, err = resumed.communicate(timeout=280)
    assert resumed.returncode == 0, err[-3000:]
    ours, theirs = weights(run), weights(tmp_path / "whole")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    played = (run / "played.jsonl").read_bytes()
    assert played == (tmp_path / "whole" / "played.jsonl").read_bytes()
    shown = [json.loads(line)["step"] for line in played.decode().splitlines()]
    assert sorted(set(shown)) == [1, 5, 10, 15, 20, 25, 30]
