"""``llmzoo export env``"""

from __future__ import annotations

import json

from llmzoo.cli.new import render_files


def test_it_says_what_it_wrote(llmzoo, tmp_path):
    out = tmp_path / "out"
    said = llmzoo("export", "env", "sudoku_v0", "--agent", "planner_1", "--tasks", 2, "--out", out)
    assert (said.code, said.out.splitlines()) == (
        0,
        [
            f"package sudoku_v0 for pettingzoo, trl, verifiers, openenv: {out}",
            "the model plays: planner_1",
            "tasks: 2 train, 2 test",
            f"how to use it: {out / 'README.md'}",
        ],
    )
    assert (out / "SHA256SUMS").exists()


def test_json_is_the_contract(llmzoo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "word_chain.py").write_text(render_files("env", "word_chain")["word_chain.py"])
    options = ["--agent", "all", "--license", "MIT", "--tasks", 1, "--env.max_turns", 3]
    said = llmzoo("export", "env", "word_chain.py", "--out", "out", *options, "--json")
    assert json.loads(said.out) == {
        "folder": "out",
        "package": "word_chain",
        "agents": ["teller_0", "adder_1"],
        "rows": {"train": 1, "test": 1},
        "hosts": ["pettingzoo", "trl", "verifiers"],
    }
    assert "{'max_turns': 3}" in (tmp_path / "out/word_chain/__init__.py").read_text()


def test_a_mistake_is_a_usage_error(llmzoo, tmp_path):
    for options, remedy in (
        (["sudoku_v0"], "--agent proposer_0"),
        (["sudoku_v0", "--agent", "all", "--env.size", "five"], "must be a whole number"),
        (["sudoku_v0", "--agent", "all", "--env.split", "test"], "the package has both splits"),
        (["sudoku_v0", "--agent", "all", "--others", "tiny"], "others"),
        (["mine.py", "--agent", "all"], "there is no file 'mine.py'"),
    ):
        said = llmzoo("export", "env", *options, "--out", tmp_path / "out")
        assert said.code == 2
        assert remedy in said.err
        assert not (tmp_path / "out").exists()
