"""``llmzoo bench``"""

import json
import shlex

import pytest

from llmzoo import training
from llmzoo.cli import bench
from llmzoo.evaluation.bundles.layout import read_bundle


def check_bundle(llmzoo, bench, rows):
    """The bundle has the numbers of the table, and is verified with the policies of the runs."""
    claims = read_bundle(bench / "bundle").claims
    assert [claim["success"] for claim in claims] == [row["after"] for row in rows]
    assert [claim["runs"] for claim in claims] == [1] * len(rows)
    runs = ",".join(map(str, sorted((bench / "runs").iterdir())))
    said = llmzoo("eval", "verify", bench / "bundle", "--policies", runs, "--json", "--quiet")
    assert said.code == 0, said.out
    unchecked = [c for c in json.loads(said.out)["checks"] if c["status"] == "not checked"]
    assert {check["name"] for check in unchecked} == {"reported", "training"}


@pytest.mark.slow
def test_one_environment_two_learners(llmzoo, small, tmp_path):
    argv = ["bench", "--envs", "sudoku_v0", "--learners", "grpo,at_grpo", "--seeds", 0]
    argv += ["--steps", 1, "--out", tmp_path / "bench", *small]
    said = llmzoo(*argv)
    assert said.code == 0, said.err
    rows = json.loads((tmp_path / "bench" / "results.json").read_text())
    assert [(row["env"], row["learner"], row["seed"]) for row in rows] == [
        ("sudoku_v0", "grpo", 0),
        ("sudoku_v0", "at_grpo", 0),
    ]
    for row in rows:
        assert row["steps"] == 1
        assert row["tasks"] == len(row["solved"]) == 4
        assert row["solved"].count("1") == 4 * row["after"]
        assert row["gain"] == row["after"] - row["before"]
        assert row["seconds"] > 0
        assert row["tokens"] > 0
    assert set(rows[0]["return_after"]) == {"planner_0"}
    table = (tmp_path / "bench" / "table.md").read_text()
    assert said.out == table
    assert "| sudoku_v0 | grpo against at_grpo | " in table
    tests = json.loads((tmp_path / "bench" / "tests.json").read_text())
    assert [(pair["first"], pair["second"], pair["tasks"]) for pair in tests["sudoku_v0"]] == [
        ("grpo", "at_grpo", 4)
    ]
    assert (tmp_path / "bench" / "curve-sudoku_v0.png").read_bytes().startswith(b"\x89PNG")
    assert table.startswith("`llmzoo bench --envs sudoku_v0 --learners grpo,at_grpo")
    assert "| learner | sudoku_v0 |" in table
    assert (tmp_path / "bench" / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    check_bundle(llmzoo, tmp_path / "bench", rows)

    # a second call repeats nothing: the runs stay as they are, even their times
    kept = (tmp_path / "bench" / "runs" / "sudoku_v0-grpo-0" / "after.json").stat().st_mtime_ns
    again = llmzoo(*argv, "--json")
    assert again.code == 0
    assert json.loads(again.out) == rows
    assert json.loads((tmp_path / "bench" / "results.json").read_text()) == rows
    now = (tmp_path / "bench" / "runs" / "sudoku_v0-grpo-0" / "after.json").stat().st_mtime_ns
    assert now == kept

    # a run that was cut off goes on, and more steps continue the ones there are
    (tmp_path / "bench" / "runs" / "sudoku_v0-at_grpo-0" / "after.json").unlink()
    argv[argv.index("--steps") + 1] = 2
    assert llmzoo(*argv).code == 0
    more = json.loads((tmp_path / "bench" / "results.json").read_text())
    assert [row["steps"] for row in more] == [2, 2]
    assert [row["before"] for row in more] == [row["before"] for row in rows]
    check_bundle(llmzoo, tmp_path / "bench", more)

    said = llmzoo(*argv, "--temperature", 0.5)
    assert said.code == 2
    assert "belongs to a bench with another temperature" in said.err


@pytest.mark.slow
def test_learners_of_every_kind_under_one_budget(llmzoo, small, tmp_path):
    argv = ["bench", "--envs", "sudoku_v0", "--learners", "sft,iac,grpo", "--seeds", 0]
    argv += ["--steps", 50, "--token_budget", 60, "--out", tmp_path / "bench", *small]
    said = llmzoo(*argv)
    assert said.code == 0, said.err
    rows = json.loads((tmp_path / "bench" / "results.json").read_text())
    for row in rows:
        run = tmp_path / "bench" / "runs" / f"sudoku_v0-{row['learner']}-0"
        kept = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        tokens = [result["tokens"] for result in kept if result["kind"] == "train"]
        assert row["steps"] == len(tokens) < 50
        assert row["tokens"] == sum(tokens) >= 60 > sum(tokens[:-1])
    assert "| learner | sudoku_v0 | tokens a run |" in said.out
    assert "One agent alone, which is another task: grpo." in said.out


@pytest.mark.slow
def test_ctrl_c_stops_all_of_it_and_it_goes_on(llmzoo, small, tmp_path, monkeypatch):
    argv = ["bench", "--envs", "sudoku_v0", "--learners", "grpo,at_grpo,magrpo", "--seeds", "0"]
    argv += ["--steps", "1", "--out", str(tmp_path / "a bench"), *small]
    begun = []

    def pressed(learner, env, **settings):
        begun.append(learner)
        if learner == "at_grpo":
            raise KeyboardInterrupt
        return fit(learner, env, **settings)

    fit = training.fit
    monkeypatch.setattr(training, "fit", pressed)
    said = llmzoo(*argv)
    assert said.code == 130
    assert begun == ["grpo", "at_grpo"]
    command = shlex.join(["llmzoo", *argv])
    assert said.err.endswith(f"to continue: {command}\nllmzoo: stopped\n")
    monkeypatch.undo()
    assert llmzoo(*shlex.split(command)[1:]).code == 0
    result = json.loads((tmp_path / "a bench" / "results.json").read_text())
    assert [row["learner"] for row in result] == ["grpo", "at_grpo", "magrpo"]


def test_several_processes_are_refused(llmzoo, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    said = llmzoo("bench", "--envs", "sudoku_v0")
    assert said.code == 2
    assert "bench runs in one process" in said.err


@pytest.fixture
def trained(monkeypatch):
    """The configurations of a bench whose runs take no time: each ends after 40 of its tokens."""
    configs = []

    def row(config, run):
        configs.append(config)
        evaluated = dict.fromkeys(("before", "after", "gain"), 0.0)
        intervals = {key: [0.0, 1.0] for key in ("before_ci95", "after_ci95")}
        done = {"seed": config.seed, "token_budget": config.token_budget, "steps": 2, "tokens": 40}
        tasks = {"tasks": 2, "solved": "00", "ids": ["a", "b"], "returns": {"one_0": [0.0, 0.0]}}
        return {**done, **evaluated, **intervals, **tasks, "return_after": {"one_0": 0.0}}

    monkeypatch.setattr(bench, "_train_row", row)
    return configs


def test_lists_of_settings_in_a_file(llmzoo, trained, tmp_path):
    path = tmp_path / "bench.yaml"
    path.write_text(
        """
envs:
  - {env: sudoku_v0, env_args: {size: 9}}
  - sudoku_v0
learners:
  - {learner: at_grpo, learner_args: {group_size: 2}}
  - {learner: at_grpo, learner_args: {group_size: 8}}
learner_args: {clip: 0.1}
env_args: {max_turns: 1}
seeds: 5
steps: 2
"""
    )
    said = llmzoo("bench", "--config", path, "--out", tmp_path / "out", "--model", "tiny")
    assert said.code == 0, said.err
    assert [(dict(c.env_args), dict(c.learner_args)) for c in trained] == [
        ({"max_turns": 1, "size": 9}, {"clip": 0.1, "group_size": 2}),
        ({"max_turns": 1, "size": 9}, {"clip": 0.1, "group_size": 8}),
        ({"max_turns": 1}, {"clip": 0.1, "group_size": 2}),
        ({"max_turns": 1}, {"clip": 0.1, "group_size": 8}),
    ]
    assert "| learner | sudoku_v0 size=9 | sudoku_v0 | tokens a run |" in said.out
    assert "\n| at_grpo group_size=8 | " in said.out
    assert "run 1 of 4: sudoku_v0.size=9-at_grpo.group_size=2-5\n" in said.err
    assert [c.token_budget for c in trained] == [None] * 4  # steps were given


def test_a_budget_of_tokens_unless_steps_are_given(llmzoo, trained, tmp_path):
    argv = ["bench", "--envs", "sudoku_v0", "--learners", "grpo", "--seeds", 0, "--model", "tiny"]
    argv += ["--out", tmp_path]
    assert llmzoo(*argv).code == 0
    assert (trained[0].token_budget, trained[0].steps) == (100_000, 10_000)
    assert llmzoo(*argv, "--token_budget", 40).code == 0
    assert (trained[1].token_budget, trained[1].steps) == (40, 10_000)


def test_runs_that_their_steps_end_before_the_budget_are_named(llmzoo, trained, tmp_path):
    argv = ["bench", "--envs", "sudoku_v0", "--learners", "grpo", "--seeds", 0, "--model", "tiny"]
    said = llmzoo(*argv, "--out", tmp_path, "--steps", 2, "--token_budget", 41)
    note = "rpo on sudoku_v0, seed 0, had its 2 steps after 40 of 41 tokens: raise --steps"
    assert note in said.err
    assert note in said.out
    assert note not in llmzoo(*argv, "--out", tmp_path, "--steps", 2, "--token_budget", 40).err


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ("[{learner: grpo, args: {}}]", "an entry of --learners is a name or {learner: NAME"),
        ("[grpo, grpo]", "--learners has grpo twice"),
        ("[{learner: grpo, learner_args: {group_sise: 2}}]", "Did you mean 'group_size'"),
    ],
)
def test_entries_that_are_refused(llmzoo, tmp_path, entries, told):
    path = tmp_path / "bench.yaml"
    path.write_text(f"learners: {entries}\n")
    said = llmzoo("bench", "--config", path, "--envs", "sudoku_v0", "--out", tmp_path / "out")
    assert said.code == 2
    assert told in said.err
    assert not (tmp_path / "out").exists()
