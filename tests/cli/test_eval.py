"""``llmzoo eval``"""

import json
import re
import warnings

import pytest

from llmzoo.cli.output import EVALUATION_COLUMNS, evaluation_row
from llmzoo.envs import sources
from llmzoo.errors import SAMPLE_RULE, FallbackWarning
from llmzoo.evaluation.evaluate import evaluate

Z2 = 1.959964**2


def test_json_is_the_contract(llmzoo):
    said = llmzoo(
        *[
            "eval",
            "--env",
            "sudoku_v0",
            "--policy",
            "expert",
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
    assert (result["env"], result["policy"], result["split"]) == ("sudoku_v0", "expert", "test")
    assert result["tasks"] == 8
    assert result["success"] == 1.0
    # Wilson's interval of n successes in n trials is [n / (n + z^2), 1]
    assert result["success_ci95"] == pytest.approx([8 / (8 + Z2), 1.0])
    # team 1, and 0.1 format + 0.1 legal + 0.8 quality for each agent
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
    argv = "eval --env sudoku_v0 --policy expert --tasks 2 --json --env.size 9 --env.num-agents=1"
    result = json.loads(llmzoo(*argv.replace("num-agents", "num_agents").split()).out)
    assert result["success"] == 1.0
    assert list(result["mean_return"]) == ["planner_0"]


def test_a_configuration_file(llmzoo, tmp_path):
    path = tmp_path / "eval.yaml"
    path.write_text("env: sudoku_v0\nenv_args: {num_agents: 1}\npolicy: expert\ntasks: 3\n")
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
    said = llmzoo("eval", "--env", "sudoku_v0", "--policy", "expert", "--tasks", 2)
    assert "100.0%" in said.out
    assert "{" not in said.out


def test_numbers_of_a_public_set_are_not_taken_from_the_sample(llmzoo, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    sources._warned.clear()  # as in a process that has just started
    sources._loaded.clear()
    argv = ["eval", "--env", "mbpp_v0", "--policy", "expert", "--tasks", 2, "--json"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)  # that the sample is played would be wrong
        said = llmzoo(*argv)
    assert said.code == 2
    assert SAMPLE_RULE in said.err
    sources._warned.clear()
    sources._loaded.clear()
    with pytest.warns(FallbackWarning, match=re.escape(SAMPLE_RULE)):
        assert llmzoo("play", "mbpp_v0", "--policy", "random").code == 0
    result = json.loads(llmzoo(*argv, "--source", "sample").out)
    assert (result["source"], result["success"]) == ("sample", 1.0)


@pytest.mark.slow
def test_a_run_folder_brings_its_environment(llmzoo, tmp_path):
    run = tmp_path / "run"
    asked = ("--env", "sudoku_v0", "--env.max_turns", 1, "--env.num_agents", 1)
    trained = ("--steps", 1, "--episodes_per_step", 1, "--eval_tasks", 2, "--seed", 3)
    assert llmzoo("train", *asked, *trained, "--out", run, "--quiet").code == 0
    played = ("eval", "--policy", run, "--tasks", 2, "--seed", 3, "--json", "--quiet")
    alone = json.loads(llmzoo(*played).out)
    assert alone["env"] == "sudoku_v0"
    assert list(alone["mean_return"]) == ["planner_0"]
    assert alone["mean_turns"] == 1
    after = json.loads((run / "after.json").read_text())
    assert alone["solved"] == after["solved"]
    assert json.loads(llmzoo(*played, "--env", "sudoku_v0").out)["mean_turns"] == 1
    more = json.loads(llmzoo(*played, "--env.max_turns", 3).out)
    assert list(more["mean_return"]) == ["planner_0"]
    assert more["mean_turns"] > 1
    other = json.loads(llmzoo(*played, "--env", "plan_path_v0").out)
    assert list(other["mean_return"]) == ["proposer_0", "planner_1"]
    missing = llmzoo("eval", "--policy", "tiny")
    assert missing.code == 2
    assert "give --env ID" in missing.err


def test_what_is_kept_by_the_command(llmzoo, tmp_path):
    asked = ("eval", "--env", "sudoku_v0", "--policy", "noisy_expert", "--tasks", 4, "--samples", 2)
    out = ("--out", tmp_path / "kept", "--quiet")
    result = json.loads(llmzoo(*asked, *out, "--json").out)
    assert result["pass_at"].keys() == {"1", "2"}
    again = llmzoo(*asked, *out)
    assert again.code == 2
    assert "already holds a run" in again.err
    assert llmzoo(*asked, *out, "--resume").code == 0
    assert "pass@2" in llmzoo(*asked, "--quiet").out
    refused = llmzoo(*asked, "--resume")
    assert refused.code == 2
    assert "give both" in refused.err
    assert llmzoo("eval", "rescore", tmp_path / "kept", "--quiet").code == 0


def test_policies_of_single_agents(llmzoo):
    argv = ["eval", "sudoku_v0", "--tasks", 4, "--env.max_turns", 1, "--json"]
    mixed = llmzoo(*argv, "--agent.planner_1.policy", "silent", "--others", "expert")
    assert mixed.code == 0, mixed.err
    result = json.loads(mixed.out)
    assert result["policy"] == "proposer_0: expert, planner_1: silent"
    assert result["success"] == 0.0  # the planner's board counts
    # the proposer's legal, right and well-formed board is rewarded; silence is not
    assert result["mean_return"]["proposer_0"] == pytest.approx(1.0)
    assert result["mean_return"]["planner_1"] <= 0.0
    other = llmzoo(*argv, "--policy", "silent", "--agent.planner_1.policy", "expert")
    assert json.loads(other.out)["success"] == 1.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--agent.planner_9.policy", "expert"], "unknown agent 'planner_9'"),
        (
            ["--others", "expert"],
            "--others plays the agents that --agent.NAME.policy does not name",
        ),
        (
            ["--others", "expert", "--agent.planner_1.policy", "silent", "--policy", "expert"],
            "without --policy",
        ),
        (["--agent.planner_1.policy", "human", "--others", "expert"], "use llmzoo play"),
        (["--agent.planner_1.frozen", "true", "--policy", "expert"], "no agent learns here"),
        (["--agent.planner_1.temperature", "0.5", "--policy", "expert"], "does not sample"),
        (["--agent.planner_1", "expert"], "must name a setting"),
    ],
)
def test_what_single_agents_cannot_have(llmzoo, given, told):
    said = llmzoo("eval", "sudoku_v0", *given)
    assert said.code == 2
    assert told in said.err


def test_a_folder_that_cannot_be_made_is_one_line(llmzoo, monkeypatch, tmp_path):
    def refuses(self, *args, **kwargs):  # as below /proc
        raise FileNotFoundError(2, "No such file or directory", str(self))

    monkeypatch.setattr("pathlib.Path.mkdir", refuses)
    out = tmp_path / "x"
    said = llmzoo("eval", "sudoku_v0", "--policy", "expert", "--tasks", 1, "--quiet", "--out", out)
    assert said.code == 2
    assert said.err == f"llmzoo: {out} cannot be created: choose another folder for the run\n"


def test_the_tokens_of_a_table_are_also_those_that_endpoints_wrote():
    found = evaluate("sudoku_v0", "noisy_expert", tasks=2).to_dict()
    column = EVALUATION_COLUMNS.index("tokens")
    assert evaluation_row("a", {**found, "tokens": 1200})[column] == "1,200"
    usage = {"read": 9000, "written": 34}
    assert evaluation_row("a", {**found, "tokens": 1200, "usage": usage})[column] == "1,234"
