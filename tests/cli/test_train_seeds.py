"""``llmzoo train --seeds``."""

import json

import pytest

from llmzoo.cli.train_seeds import _combine_seeds
from llmzoo.training import loop

OPTIONS = (
    *("sudoku_v0", "--env.max_turns", "1", "--learner", "magrpo", "--learner.group_size", "2"),
    *("--steps", "1", "--episodes_per_step", "1", "--eval_tasks", "4", "--max_new_tokens", "8"),
    *("--record_every", "0", "--trackers", "[]", "--quiet"),
)


def test_each_seed_is_a_run_of_its_own(llmzoo, model_folder, tmp_path, monkeypatch):
    options = (*OPTIONS, "--model", model_folder, "--out", tmp_path / "out", "--seeds", "3,5")
    said = llmzoo("train", *options, "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert [run["run"] for run in result["runs"]] == [
        str(tmp_path / "out" / name) for name in ("seed_3", "seed_5")
    ]
    for name, seed in (("seed_3", 3), ("seed_5", 5)):
        saved = json.loads((tmp_path / "out" / name / "config.json").read_text())
        assert saved["seed"] == seed
    rates = [run["after"]["success"] for run in result["runs"]]
    assert result["together"]["sampled after"]["success"] == sum(rates) / 2

    # a second call trains nothing, and prints the same
    monkeypatch.setattr(loop, "_iterate", None)
    again = llmzoo("train", *options)
    assert again.code == 0, again.err
    assert "seed 3" in again.out
    assert "mean [95%]" in again.out


def test_an_interrupted_seed_goes_on(llmzoo, model_folder, tmp_path, monkeypatch):
    options = (*OPTIONS, "--model", model_folder, "--out", tmp_path / "out", "--seeds", "0,1")
    iterate, done = loop._iterate, []

    def cut_off(setup, step):
        if done:
            raise KeyboardInterrupt
        done.append(step)
        return iterate(setup, step)

    monkeypatch.setattr(loop, "_iterate", cut_off)
    said = llmzoo("train", *options)
    assert said.code == 130
    assert "to continue: llmzoo train sudoku_v0" in said.err
    assert "--seeds 0,1" in said.err
    monkeypatch.setattr(loop, "_iterate", iterate)
    said = llmzoo("train", *options, "--json")
    assert said.code == 0, said.err
    assert [run["steps"] for run in json.loads(said.out)["runs"]] == [1, 1]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (("--seeds", "0,x"), "--seeds must be integers separated by commas, got '0, x'"),
        (("--seeds", "0,1,0"), "--seeds has a seed twice: 0, 1, 0"),
        (("--seeds", "0,1", "--seed", "2"), "replaces --seed"),
        (("--seeds", "0,1", "--resume", "runs/x"), "repeat the same command"),
        (("--seeds", "0,1", "--dry_run"), "for a single new run"),
        (("--seeds", "0,1", "--learner", "magpro"), "Did you mean 'magrpo'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(llmzoo, tmp_path, given, remedy):
    said = llmzoo("train", "sudoku_v0", *given)
    assert said.code == 2
    assert remedy in said.err
    assert not (tmp_path / "runs").exists()


def run_of(solved, ids="abcd"):
    return {"success": solved.count("1") / 4, "solved": solved, "ids": list(ids)}


def test_the_interval_is_over_runs_and_tasks():
    alike = _combine_seeds([run_of("1100"), run_of("1100")])
    assert alike["success"] == 0.5
    low, high = alike["success_ci95"]
    assert (low, high) == (0.0, 1.0)  # four tasks: two of them may be drawn four times
    apart = _combine_seeds([run_of("1111"), run_of("0000")])
    assert apart["success_ci95"] == (0.0, 1.0)
    sure = _combine_seeds([run_of("1111"), run_of("1111")])
    assert sure["success_ci95"] == (1.0, 1.0)


def test_runs_with_tasks_of_their_own_are_units():
    mixed = _combine_seeds([run_of("1100", "abcd"), run_of("1110", "efgh")])
    assert mixed == {"success": 0.625, "success_ci95": (0.5, 0.75)}
