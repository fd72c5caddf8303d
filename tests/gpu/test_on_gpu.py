"""scripts/on_gpu.py from end to end on the virtual GPU: its rows, and what a second call leaves out."""

import gzip
import json
import runpy
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from recorded import recorded
from torch.nn.attention.flex_attention import flex_attention
from virtual_gpu import virtual_gpu

from llmzoo.models.fused import PackedTree, attend

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "on_gpu.py"
LOGS = ROOT / "docs" / "results" / "logs"


@pytest.mark.slow
def test_all_parts_leave_a_row_and_are_not_repeated(tmp_path, monkeypatch, capsys):
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    started = []

    def run(args, _seconds):
        started.append(args)
        return {"code": 0, "said": "passed"}

    monkeypatch.setitem(script.main.__globals__, "run", run)
    monkeypatch.setattr(
        script.main.__globals__["subprocess"], "check_output", lambda *_, **__: "abc"
    )
    # the virtual GPU has no kernels: none to compile, none to profile
    update = script.main.__globals__["update"]
    monkeypatch.setitem(
        script.main.__globals__, "update", lambda *args: update(*args[:2], compiled=False)
    )
    monkeypatch.setattr("scripts.gpu_measurements.profiled", lambda call, times: {})
    argv = ["--out", str(tmp_path / "gpu.jsonl"), "--quick", "--minutes", "60"]
    with virtual_gpu(), recorded() as graphs:
        assert script.main([*argv, "--parts", "tests,decode,update,trl,study"]) == 0
        rows = [json.loads(line) for line in (tmp_path / "gpu.jsonl").read_text().splitlines()]
        begun = len(started)
        assert script.main([*argv, "--parts", "tests,decode,update,trl,study"]) == 0
    assert [row["name"] for row in rows if "error" in row] == []
    assert len(rows) == 1 + 8 + 4 + 2 + len(script.missing_runs())
    assert graphs.replays > 0
    assert {row["where"]["device"] for row in rows} == {"virtual"}
    decoded = [row for row in rows if row["name"].startswith("decode")]
    assert all(row["ms_a_token"] > 0 and row["tokens_a_second"] > 0 for row in decoded)
    assert [row["name"].endswith("graph") for row in decoded] == [
        row["captured"] for row in decoded
    ]
    assert started[begun:] == []  # all is known
    assert len((tmp_path / "gpu.jsonl").read_text().splitlines()) == len(rows)


def test_attention_is_compared_with_all_pairs_of_tokens():
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    measurements = SimpleNamespace(**script.attention.__globals__)
    torch.manual_seed(0)
    prompts = measurements.prompts_of(measurements.QUICK)
    answers = torch.randint(300, (len(prompts), 8, 6)).tolist()
    tree = PackedTree(prompts, answers, torch.device("cpu"))
    inputs = [torch.randn(1, heads, len(tree.ids), 64, requires_grad=True) for heads in (9, 3, 3)]
    exact, *gradients = measurements._exact_attention(*inputs, tree.mask, 0.125)
    # flex attention has no backward pass on a CPU
    found = attend(*(each.detach().double() for each in inputs), tree.mask, 0.125, flex_attention)
    torch.testing.assert_close(found, exact)
    assert [each.shape for each in gradients] == [each.shape for each in inputs]


@pytest.mark.slow
def test_a_run_of_the_study_leaves_its_line(tmp_path, monkeypatch):
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    monkeypatch.setitem(script.study_run.__globals__, "ROOT", tmp_path)
    plan = script.Plan(script.QUICK, time.monotonic() + 300, jobs=2)
    row = script.study_run("smollm2", "plan_path_v0-turns-0", plan)
    assert "error" not in row
    assert row["line"]["arm"] == "turns"
    assert row["line"]["tokens"] > 0
    again = script.study_run("smollm2", "plan_path_v0-turns-0", plan)
    assert again["line"] == row["line"]


def test_the_study_part_has_the_runs_of_the_queue_that_are_in_no_log():
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    missing = script.missing_runs()
    rows = gzip.decompress((LOGS / "smollm2.jsonl.gz").read_bytes()).splitlines()
    ended = [f"{row['task']}-{row['arm']}-{row['seed']}" for row in map(json.loads, rows)]
    assert missing
    assert not {name for study, name, _ in missing if study == "smollm2"} & set(ended)


@pytest.mark.slow
def test_a_program_that_takes_too_long_ends_with_its_processes(tmp_path):
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    alive = tmp_path / "alive"
    child = f"import time, pathlib; time.sleep(3); pathlib.Path({str(alive)!r}).touch()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    row = script.run(["-c", code], time.monotonic() + 1.0)
    assert row["error"] == "it failed or took too long"
    time.sleep(3)
    assert not alive.exists()


def test_without_a_gpu_it_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    script = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
    assert script.main(["--out", str(tmp_path / "gpu.jsonl")]) == 2
    assert "no GPU of CUDA" in capsys.readouterr().err
