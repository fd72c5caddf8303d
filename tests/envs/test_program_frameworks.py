"""Programs built with other people's frameworks, as environments."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from llmzoo.testing import check_env, check_fork, check_seeds

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "adapters" / "langgraph_program.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("langgraph")
    return runpy.run_path(str(EXAMPLE))


def test_a_graph_of_langgraph_is_an_environment(example):
    env = example["make"]()
    env.reset(options={"task": 0})
    prompt = env.unwrapped.episode.row.columns["prompt"]
    assert env.observe("caller_0") == f"sudoku {prompt} digit"
    env.step(" 3 of them")
    assert env.observe("echo_1") == "echo 3"
    env.step("3")
    assert env.rewards == pytest.approx({"caller_0": 1.2, "echo_1": 1.2})


def test_it_passes_the_checks(example):
    check_env(example["make"], cycles=5)
    check_fork(example["make"])
    check_seeds(example["make"])


@pytest.mark.slow
def test_the_example_learns(example, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--learner", "magrpo", "--steps", "18", "--tasks", "20"]
    monkeypatch.setattr(sys, "argv", ["langgraph_program.py", *options])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    before, after = re.search(
        r"success (\d+)% before, (\d+)% after", capsys.readouterr().out
    ).groups()
    assert int(before) <= 10
    assert int(after) >= 90
