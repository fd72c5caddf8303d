"""``--policies``, ``--agent.AGENT.NAME`` and ``--lora.NAME`` of ``llmzoo train``."""

import json

import pytest


def train(llmzoo, small, run, *argv):
    said = llmzoo(
        "train", "--learner", "magrpo", "--steps", 1, *small, "--quiet", *argv, "--out", run
    )
    assert said.code == 0, said.err
    return json.loads((run / "config.json").read_text())


def checkpoint(run):
    return {path.name for path in (run / "checkpoints" / "step_000001").iterdir() if path.is_dir()}


def evaluated(llmzoo, run):
    """What ``llmzoo eval`` says of a run, over the tasks that training measured."""
    argv = ["--policy", run, "--tasks", 4, "--env.max_turns", 1, "--json"]
    said = llmzoo("eval", "--env", "sudoku_v0", *argv)
    assert said.code == 0, said.err
    return json.loads(said.out)


def same(result, run):
    after = json.loads((run / "after.json").read_text())
    return all(result[n] == after[n] for n in ("success", "mean_return", "tokens", "mean_turns"))


def test_values_have_their_types(llmzoo, small, tmp_path):
    config = train(
        llmzoo,
        small,
        tmp_path / "run",
        *("--policies", "separate", "--agent.planner_1.frozen"),
        *("--agent.proposer_0.temperature", 2, "--agent.proposer_0.learning_rate", "1e-3"),
        *("--agent.proposer_0.stop", "[x, y]", "--agent.proposer_0.top_k", 5),
    )
    assert config["agent_args"] == {
        "planner_1": {"frozen": True},
        "proposer_0": {"temperature": 2.0, "learning_rate": 0.001, "stop": ["x", "y"], "top_k": 5},
    }


def test_a_frozen_agent_is_not_saved_and_still_played(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    train(llmzoo, small, run, "--policies", "separate", "--agent.planner_1.frozen", "true")
    assert checkpoint(run) == {"proposer_0"}
    assert same(evaluated(llmzoo, run), run)


@pytest.mark.slow
def test_another_player_in_an_agent(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    train(llmzoo, small, run, "--policies", "separate", "--agent.proposer_0.policy", "expert")
    assert checkpoint(run) == {"planner_1"}
    result = evaluated(llmzoo, run)
    assert same(result, run)
    assert result["mean_return"]["proposer_0"] >= 1.0  # the expert's own answers are right


@pytest.mark.slow
def test_lora_agents_are_trained_resumed_and_evaluated(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    config = train(llmzoo, small, run, "--policies", "lora", "--lora.r", 2)
    assert config["lora_args"] == {"r": 2}
    assert checkpoint(run) == {"proposer_0", "planner_1"}
    assert same(evaluated(llmzoo, run), run)
    said = llmzoo("train", "--resume", run, "--steps", 2, "--quiet", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["steps"] == 2


@pytest.mark.slow
def test_a_mapping_of_agents_to_models_is_resumed(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    train(llmzoo, small, run, "--policies", "{proposer_0: a, planner_1: a}")
    said = llmzoo("train", "--resume", run, "--steps", 2, "--quiet", "--json")
    assert said.code == 0, said.err
    saved = (run / "checkpoints" / "step_000002").iterdir()
    assert [path.name for path in saved if path.is_dir()] == ["a"]  # one model for both agents


@pytest.mark.slow
def test_one_agent_beside_others(llmzoo, small, tmp_path):
    run = tmp_path / "run"
    train(llmzoo, small, run, "--policies", "planner_1", "--others", "noisy_expert")
    assert checkpoint(run) == {"planner_1"}
    assert same(evaluated(llmzoo, run), run)


@pytest.mark.slow
def test_a_run_as_the_start_of_another(llmzoo, small, tmp_path, model_folder):
    train(llmzoo, small, tmp_path / "shared")
    options = [str(tmp_path / "shared") if x == model_folder else x for x in small]
    train(llmzoo, options, tmp_path / "separate", "--policies", "separate")
    assert checkpoint(tmp_path / "separate") == {"proposer_0", "planner_1"}
    before = json.loads((tmp_path / "separate" / "before.json").read_text())
    after = json.loads((tmp_path / "shared" / "after.json").read_text())
    assert before["greedy"] == after["greedy"]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ("--agent.planer_1.frozen", "unknown agent 'planer_1'. Did you mean 'planner_1'?"),
        ("--agent.planner_1.frozn true", "Did you mean 'frozen'?"),
        ("--agent.planner_1.frozen maybe", "'frozen' must be true or false, got 'maybe'"),
        ("--agent.planner_1 frozen", "--agent.planner_1 must name a setting"),
        ("--agent.planner_1.temperature hot", "'temperature' must be a number, got 'hot'"),
        ("--agent.planner_1.temperature 0", "agent 'planner_1': temperature is 0.0001 to 100"),
        ("--agent.planner_1.top_k 1.5", "'top_k' must be a whole number, got 1.5"),
        ("--agent.planner_1.stop x", "'stop' must be a list of texts, such as [a, b], got 'x'"),
        ("--agent.planner_1.learning_rate 1e-4", "shares its weights"),
        (
            "--agent.planner_1.frozen",
            "cannot be frozen, because other agents train the same weights",
        ),
        ("--policies separate --agent.planner_1.policy exprt", "Did you mean 'expert'?"),
        ("--policies separate --agent.planner_1.policy openai:m@x", "names no endpoint"),
        ("--lora.r 4", "lora_args need policies='lora'"),
        ("--policies lora --lora.rr 4", "unknown LoRA option 'rr'. Did you mean 'r'?"),
        ("--precision fp16", "--precision must be one of float32, bf16_autocast, bf16, got fp16"),
        ("--trackers tensorbord", "Did you mean 'tensorboard'?"),
        ("--trackers [tensorbord]", "Did you mean 'tensorboard'?"),
        ("--model expert", "cannot learn"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(llmzoo, small, tmp_path, argv, reason):
    said = llmzoo("train", *small, "--out", tmp_path / "run", *argv.split())
    assert said.code == 2
    assert reason in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
