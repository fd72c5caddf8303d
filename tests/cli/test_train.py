"""``llmzoo train``"""

import contextlib
import io
import json
import shutil

import pytest

from llmzoo.cli import main


def rows(run, kind):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory):
    """A run of two iterations: its folder and the object that was printed."""
    run = tmp_path_factory.mktemp("trained") / "run"
    argv = ["train", "--env", "sudoku_v0", "--learner", "at_grpo", "--steps", "2", "--seed", "3"]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*argv, "--out", str(run), "--json", *small]) == 0
    return run, json.loads(out.getvalue().splitlines()[-1])


def test_json_is_the_contract(trained, model_folder):
    run, result = trained
    assert list(result) == ["run", "before", "after", "steps", "seconds", "findings"]
    assert result["run"] == str(run)
    assert result["steps"] == 2
    for part in (result["before"], result["after"]):
        assert part["env"] == "sudoku_v0"
        assert part["policy"] == model_folder
        assert part["split"] == "test"
        assert part["tasks"] == 4
        low, high = part["success_ci95"]
        assert low <= part["success"] <= high
        assert set(part["mean_return"]) == {"proposer_0", "planner_1"}


def test_what_a_run_leaves(trained):
    run, result = trained
    assert [row["step"] for row in rows(run, "train")] == [1, 2]
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert (run / "checkpoints" / "step_000002" / "policy" / "model.safetensors").exists()
    assert json.loads((run / "config.json").read_text())["env_args"] == {"max_turns": 1}
    assert json.loads((run / "after.json").read_text()) == result["after"]


def test_eval_of_a_run_is_what_training_measured(trained, llmzoo):
    run, result = trained
    argv = ["--policy", run, "--tasks", 4, "--seed", 3, "--env.max_turns", 1, "--json"]
    again = json.loads(llmzoo("eval", "--env", "sudoku_v0", *argv).out)
    for name in ("success", "mean_return", "tokens", "mean_turns"):
        assert again[name] == result["after"][name]


def test_resume_with_more_steps(trained, llmzoo, tmp_path):
    made, result = trained
    run = shutil.copytree(made, tmp_path / "run")
    said = llmzoo("train", "--resume", run, "--steps", 3, "--seed", 3, "--json", "--quiet")
    assert said.code == 0, said.err
    more = json.loads(said.out)
    assert more["steps"] == 3
    assert more["before"] == result["before"]
    assert [row["step"] for row in rows(run, "train")] == [1, 2, 3]


def test_resume_refuses_what_contradicts(trained, llmzoo):
    run, _ = trained
    for argv, reason in (
        (["--seed", 4], "seed=3"),
        (["--env.size", 9], "env_args={'max_turns': 1}"),
        (["--steps", 1], "cannot be lowered"),
    ):
        said = llmzoo("train", "--resume", run, *argv)
        assert said.code == 2
        assert reason in said.err
    assert llmzoo("train", "--out", run, "--seed", 3, "--model", "x/y").code == 2


@pytest.mark.slow
def test_separate_agents_are_evaluated_each_with_its_own(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    argv = ["train", "--learner", "magrpo", "--steps", 1, "--policies", "separate", "--out", run]
    assert llmzoo(*argv, *small, "--quiet").code == 0
    argv = ["eval", "--env", "sudoku_v0", "--policy", run, "--tasks", 2, "--json"]
    assert json.loads(llmzoo(*argv, "--env.max_turns", 1).out)["tasks"] == 2
    said = llmzoo(*argv, "--env.num_agents", 1)
    assert said.code == 2
    assert "no policy for planner_0" in said.err


def test_from_a_file_with_learner_options_and_one_agent(
    llmzoo, model_folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(
        f"env: plan_path_v0\nenv_args: {{max_turns: 1}}\nlearner: magrpo\n"
        f"learner_args: {{group_size: 2}}\nmodel: {model_folder}\npolicies: planner_1\n"
        "steps: 1\nepisodes_per_step: 2\neval_tasks: 2\nmax_new_tokens: 4\n"
    )
    said = llmzoo("train", "--config", "run.yaml", "--learner.entropy", 0.01)
    assert said.code == 0, said.err
    assert "after 1" in said.out
    run = tmp_path / "runs" / "plan_path_v0-magrpo-0"
    saved = json.loads((run / "config.json").read_text())
    assert saved["learner_args"] == {"group_size": 2, "entropy": 0.01}
    # the proposer's agent is the expert's again
    argv = ["eval", "--env", "plan_path_v0", "--policy", run, "--tasks", 2, "--json"]
    result = json.loads(llmzoo(*argv, "--env.max_turns", 1).out)
    assert result["mean_return"]["proposer_0"] >= 1.0


def test_nothing_is_left_by_what_cannot_be_run(llmzoo, small, tmp_path):
    said = llmzoo("train", *small, "--policies", "nobody", "--out", tmp_path / "run")
    assert said.code == 2
    assert not (tmp_path / "run").exists()
