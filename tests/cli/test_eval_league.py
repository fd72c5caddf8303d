"""llmzoo eval league: what it prints, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

PLAYERS = ("expert", "noisy_expert", "random")


@pytest.mark.slow
def test_a_table_and_its_files(llmzoo, tmp_path):
    command = (
        "eval",
        "league",
        *PLAYERS,
        "--env",
        "tic_tac_toe_v0",
        "--deals",
        "6",
        "--out",
        tmp_path / "l",
    )
    said = llmzoo(*command)
    assert said.code == 0
    rows = [line for line in said.out.splitlines() if "%" in line and "rating" not in line]
    assert [name for row in rows for name in PLAYERS if name in row.split()] == [*PLAYERS]
    assert "note: 6 distinct deals are few" in said.err
    names = {path.name for path in (tmp_path / "l").iterdir()}
    assert names == {
        *("config.json", "games", "league.json", "table.md", "ratings.png", "wins.png", ".lock")
    }
    table = (tmp_path / "l" / "table.md").read_text()
    assert "6 deals, each played twice by every pair" in table
    assert re.search(r"\| expert \| \d\d\.\d \[\d\d\.\d, \d\d\.\d\] \|", table)
    before = {p: p.read_bytes() for p in (tmp_path / "l").iterdir() if p.is_file()}
    again = llmzoo(*command, "--json")
    assert {p: p.read_bytes() for p in before} == before
    assert json.loads(again.out) == json.loads((tmp_path / "l" / "league.json").read_text())


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    from llmzoo.training import fit

    folder = tmp_path_factory.mktemp("runs")
    for name, tries in (("one", 1), ("other", 2)):
        fit(
            "at_grpo",
            env="kuhn_poker_v0",
            env_args={"tries": tries},
            model=model_folder,
            max_new_tokens=2,
            out=folder / name,
            steps=2,
            episodes_per_step=2,
            opponents="latest",
            opponents_args={"every": 1},
            eval_tasks=2,
            quiet=True,
        )
    return folder


@pytest.mark.slow
def test_a_run_folder_is_enough(llmzoo, runs):
    said = llmzoo("eval", "league", runs / "one", "--deals", "2", "--json")
    assert said.code == 0
    found = json.loads(said.out)
    assert [player["name"] for player in found["players"]] == ["one@0", "one@1", "one@2"]
    assert (runs / "one" / "league" / "league.json").exists()
    config = json.loads((runs / "one" / "league" / "config.json").read_text())
    assert config["env_args"] == {"tries": 1}
    assert llmzoo("report", runs / "one").code == 0
    page = (runs / "one" / "report.html").read_text()
    assert "Matches between the run" in page
    # a checkpoint plays alone too, in the environment of its run
    newest = runs / "one" / "checkpoints" / "step_000002"
    said = llmzoo("eval", "--policy", newest, "--tasks", "2", "--json")
    assert json.loads(said.out)["env"] == "kuhn_poker_v0"


@pytest.mark.slow
def test_runs_of_several_settings(llmzoo, runs, tmp_path):
    two = (
        "eval",
        "league",
        runs / "one",
        runs / "other",
        "--deals",
        "2",
        "--json",
        "--out",
        tmp_path / "l",
    )
    said = llmzoo(*two)
    assert said.code == 2
    assert "trained with other tries: choose with --env.tries" in said.err
    found = json.loads(llmzoo(*two, "--env.tries", "1").out)
    assert [player["name"] for player in found["players"]] == ["one@2", "other@2"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ([], "name at least two players, or a run folder: llmzoo eval league PLAYER"),
        (["expert", "--env", "kuhn_poker_v0"], "expert alone: name more, such as expert"),
        (["expert", "noisy_expert"], "give --env ID: there is no run"),
        (["expert", "noisy_expert", "--env", "kuhn_pokr_v0"], "Did you mean 'kuhn_poker_v0'?"),
        (["expert", "noisy_expert", "--env", "kuhn_poker_v0"], "give --out FOLDER"),
        (
            ["expert", "noisy_expart", "--env", "kuhn_poker_v0", "--out", "l"],
            "Did you mean 'noisy_expert'?",
        ),
        (
            ["expert", "noisy_expert", "--env", "relay_v0", "--out", "l"],
            "two sides, but relay_v0 has 3",
        ),
        (["expert", "noisy_expert", "--env", "kuhn_poker_v0", "--env.trys", "1"], "'tries'"),
        (
            ["expert", "noisy_expert", "--env", "kuhn_poker_v0", "--env.split", "test"],
            "use --split",
        ),
        (["a/opponents", "expert", "--env", "kuhn_poker_v0", "--out", "l"], "a/opponents"),
        (
            ["expert", "noisy_expert", "--env", "kuhn_poker_v0", "--deals", "1", "--out", "l"],
            "at least 2",
        ),
        (["expert", "noisy_expert", "--snapshots", "one"], "--snapshots must be a whole number"),
        (
            [
                "expert",
                "noisy_expert",
                "--env",
                "kuhn_poker_v0",
                "--temperature",
                "1",
                "--out",
                "l",
            ],
            "sampling would have no effect",
        ),
    ],
)
def test_what_is_refused(llmzoo, options, match, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = llmzoo("eval", "league", *options)
    assert said.code == 2
    assert match in said.err
    assert said.err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_a_run_without_what_a_league_needs(llmzoo, runs, tmp_path):
    said = llmzoo("eval", "league", runs)
    assert said.code == 2
    assert (runs / "one").is_dir()
    said = llmzoo("eval", "league", runs / "one", "--snapshots", "1")
    assert "snapshots must be at least 2" in said.err
