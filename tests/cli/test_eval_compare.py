"""``llmzoo eval compare``: the tables, the object, the picture, and what it refuses."""

import json
import sys

import pytest

from llmzoo import evaluate


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """Folders of two evaluations of the same eight tasks, of which the expert solves all."""
    monkeypatch.chdir(tmp_path)
    for policy in ("expert", "random"):
        evaluate("sudoku_v0", policy, tasks=8, out=policy)
    return "expert", "random"


def test_two_evaluations_are_compared(llmzoo, evaluated):
    said = llmzoo("eval", "compare", *evaluated, "--plot", "compared.svg")
    assert said.code == 0
    assert "100.0%" in said.out
    assert all(name in said.out for name in evaluated)
    with open("compared.svg") as file:
        assert "<svg" in file.read()


def test_programs_get_one_object(llmzoo, evaluated):
    said = llmzoo("eval", "compare", *evaluated, "--json")
    found = json.loads(said.out)
    assert said.code == 0
    (pair,) = found["pairs"]
    assert pair["p_value"] == 2 / 2**8  # all eight tasks are solved by one of them alone


def test_arguments_that_differ_are_named(llmzoo, evaluated):
    assert "note:" not in llmzoo("eval", "compare", *evaluated).out
    evaluate("sudoku_v0", "expert", tasks=8, env_args={"max_turns": 2}, out="shorter")
    said = llmzoo("eval", "compare", "expert", "shorter")
    assert said.code == 0
    assert "note: the environments differ in max_turns: default in expert, 2 in shorter" in said.out
    found = json.loads(llmzoo("eval", "compare", "expert", "shorter", "--json").out)
    assert found["differ"] == {"max_turns": {"expert": None, "shorter": 2}}


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--plot", "compared.pdf"], "--plot must end in .png or .svg, got compared.pdf"),
        (["expert"], "expert is given twice"),
    ],
)
def test_what_is_refused(llmzoo, evaluated, argv, told):
    said = llmzoo("eval", "compare", *evaluated, *argv)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_a_picture_needs_the_extra(llmzoo, evaluated, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = llmzoo("eval", "compare", *evaluated, "--plot", "compared.png")
    assert said.code == 2
    assert "llmzoo-marl[train]" in said.err
