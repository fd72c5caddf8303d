"""``llmzoo eval``"""

import json
import warnings

import pytest

Z2 = 1.959964**2


def test_json_is_the_contract(llmzoo):
    said = llmzoo(
        *[
            "eval",
            "--env",
            "sudoku_v0",
            "--policy",
            "oracle",
            "--tasks",
            "8",
            "--split",
            "test",
            "--seed",
            "0",
            "--json",
        ]
    )
    result = json.loads(said.out)
    assert said.code == 0
    assert (result["env"], result["policy"], result["split"]) == ("sudoku_v0", "oracle", "test")
    assert result["tasks"] == 8
    assert result["success"] == 1.0
    # Wilson's interval of n successes in n trials is [n / (n + z^2), 1]
    assert result["success_ci95"] == pytest.approx([8 / (8 + Z2), 1.0])
    # team 1, and 0.1 format + 0.1 legal + 0.8 quality for each seat
    assert result["mean_return"] == pytest.approx({"proposer_0": 2.0, "planner_1": 2.0})
    assert result["mean_turns"] == 1.0
    assert result["tokens"] == 0
    assert result["seconds"] > 0


def test_random_text_fails(llmzoo):
    result = json.loads(
        llmzoo("eval", "--env", "plan_path_v0", "--policy", "random", "--tasks", 4, "--json").out
    )
    assert result["success"] == 0.0
    # no success in n trials: [0, z^2 / (n + z^2)]
    assert result["success_ci95"] == pytest.approx([0.0, Z2 / (4 + Z2)])
    assert result["mean_turns"] == 4.0


def test_environment_arguments(llmzoo):
    argv = "eval --env sudoku_v0 --policy oracle --tasks 2 --json --env.size 9 --env.num-agents=1"
    result = json.loads(llmzoo(*argv.replace("num-agents", "num_agents").split()).out)
    assert result["success"] == 1.0
    assert list(result["mean_return"]) == ["planner_0"]


def test_a_configuration_file(llmzoo, tmp_path):
    path = tmp_path / "eval.yaml"
    path.write_text("env: sudoku_v0\nenv_args: {num_agents: 1}\npolicy: oracle\ntasks: 3\n")
    result = json.loads(llmzoo("eval", "--config", path, "--json").out)
    assert result["tasks"] == 3
    assert list(result["mean_return"]) == ["planner_0"]


def test_a_model_folder_sampled_and_greedy(llmzoo, model_folder):
    argv = ["eval", "--env", "sudoku_v0", "--policy", model_folder, "--tasks", 2, "--json"]
    argv += ["--env.max_turns", 1, "--max-new-tokens", 5]
    sampled = json.loads(llmzoo(*argv).out)
    assert sampled["decoding"] == "sampled"
    assert 0 < sampled["tokens"] <= 2 * 2 * 5
    assert json.loads(llmzoo(*argv).out)["tokens"] == sampled["tokens"]
    assert json.loads(llmzoo(*argv, "--greedy").out)["decoding"] == "greedy"


def test_a_folder_without_a_model(llmzoo, tmp_path):
    said = llmzoo("eval", "--env", "sudoku_v0", "--policy", tmp_path)
    assert said.code == 2
    assert "no policy or model" in said.err.splitlines()[-1]


def test_a_table_for_people(llmzoo):
    said = llmzoo("eval", "--env", "sudoku_v0", "--policy", "oracle", "--tasks", 2)
    assert "100.0%" in said.out
    assert "{" not in said.out


def test_numbers_of_a_public_set_are_not_taken_from_the_sample(llmzoo, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    argv = ["eval", "--env", "mbpp_v0", "--policy", "oracle", "--tasks", 2, "--json"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once in a process it says that the sample is played
        said = llmzoo(*argv)
    assert said.code == 2
    assert "--source sample" in said.err
    result = json.loads(llmzoo(*argv, "--source", "sample").out)
    assert (result["source"], result["success"]) == ("sample", 1.0)
