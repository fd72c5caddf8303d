"""The commands of docs/distributed.md that need no GPU, as they stand there."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, blocks, commands

from llmzoo.cli import main

PAGE = ROOT / "docs" / "distributed.md"
RUNS = [
    command
    for language, block, _ in blocks(PAGE)
    if language == "bash"
    for command in commands(block)
    if command.startswith(("torchrun --nproc-per-node 2 ", "accelerate launch"))
]
(RESUME,) = (
    command
    for language, block, _ in blocks(PAGE)
    if language == "bash"
    for command in commands(block)
    if "--resume" in command
)
PROGRAMS = {
    "torchrun": ["-m", "torch.distributed.run"],
    "accelerate": ["-m", "accelerate.commands.accelerate_cli"],
}


@pytest.fixture
def folder(tmp_path):
    """One with the page's configuration file."""
    (text,) = (block for language, block, _ in blocks(PAGE) if language == "yaml")
    name, _, content = text.partition("\n")
    (tmp_path / name.removeprefix("# ")).write_text(content)
    return tmp_path


def started(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command)
    if program == "torchrun":  # a port of its own, for others may be running
        arguments = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", *arguments]
    else:
        arguments = [arguments[0], "--main_process_port", "0", *arguments[1:]]
    return subprocess.run(
        [sys.executable, *PROGRAMS[program], *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
    )


def test_the_page_has_such_commands():
    assert len(RUNS) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        command
        if "--parallel fsdp" in command
        else pytest.param(command, marks=pytest.mark.long("further launchers, with two ranks"))
        for command in RUNS
    ],
)
def test_a_command_of_the_page(command, folder, monkeypatch):
    done = started(command, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    out = shlex.split(command)[-1]
    assert done.stdout.count(f"{out}: metrics.jsonl") == 1  # one process prints
    assert done.stdout.count("at_grpo on sudoku_v0, after 2") == 1
    rows = (folder / out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["kind"] for row in rows] == ["eval", "train", "train", "eval"]
    shards = list((folder / out).glob("checkpoints/step_000002/policy/model-*"))
    assert len(shards) == (2 if "--parallel fsdp" in command else 0)
    if out in RESUME:
        monkeypatch.chdir(folder)
        assert main(shlex.split(RESUME)[1:]) == 0  # in this process, alone
        assert (
            json.loads((folder / out / "metrics.jsonl").read_text().splitlines()[-1])["step"] == 3
        )


@pytest.mark.slow
def test_a_mistake_is_said_once_and_ends_all(folder):
    (folder / "runs" / "two").mkdir(parents=True)
    (folder / "runs" / "two" / "config.json").write_text("{}")
    done = started(RUNS[0], folder)
    assert done.returncode != 0
    assert done.stderr.count("runs/two already holds a run") == 1
