"""``--system``, ``--chat_template_args`` and ``--thought_end``, of runs and of agents."""

import json

import chat_models
import pytest

OFF = ("--chat_template_args.enable_thinking", "false")


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chat")
    chat_models.policy(chat_models.thinking()).save(folder)
    return folder


@pytest.mark.slow
def test_a_run_and_its_evaluation(llmzoo, small, chat_model, tmp_path):
    run = tmp_path / "run"
    said = llmzoo(
        *("train", "--learner", "magrpo", "--steps", 1, *small, "--model", chat_model, "--quiet"),
        *("--system", "You are a planner: be brief.", *OFF, "--thought_end", "</think>"),
        *("--agent.planner_1.chat_template_args.enable_thinking", "true"),
        *("--agent.planner_1.system", "Check: twice.", "--max_new_tokens", 4, "--out", run),
    )
    assert said.code == 0, said.err
    config = json.loads((run / "config.json").read_text())
    assert config["system"] == "You are a planner: be brief."
    assert config["chat_template_args"] == {"enable_thinking": False}
    assert config["thought_end"] == "</think>"
    assert config["agent_args"] == {
        "planner_1": {"chat_template_args": {"enable_thinking": True}, "system": "Check: twice."}
    }
    after = json.loads((run / "after.json").read_text())
    argv = ["--env", "sudoku_v0", "--env.max_turns", 1, "--tasks", 4, "--policy", run, "--json"]
    same = llmzoo("eval", *argv)
    assert same.code == 0, same.err
    result = json.loads(same.out)
    for name in ("success", "mean_return", "tokens"):
        assert result[name] == after[name]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["eval", "collect", "play"])
def test_every_command_that_plays_has_them(llmzoo, chat_model, tmp_path, command):
    argv = [command, "--env", "sudoku_v0", "--policy", chat_model, "--env.max_turns", 1]
    if command != "play":
        argv += ["--tasks", 1, "--max_new_tokens", 4]
    if command == "collect":
        argv += ["--out", tmp_path / "x.jsonl"]
    good = llmzoo(*argv, "--system", "Be brief.", *OFF)
    assert good.code == 0, good.err
    if command == "collect":
        (tmp_path / "x.jsonl").unlink()
        kept = json.loads((tmp_path / "x.provenance.json").read_text())
        (tmp_path / "x.provenance.json").unlink()
        assert kept["chat"] == {
            "system": "Be brief.",
            "chat_template_args": {"enable_thinking": False},
        }
    bad = llmzoo(*argv, "--chat_template_args.enable_thinkin", "false")
    assert bad.code == 2
    assert "enable_thinking" in bad.err


def test_a_model_without_a_chat_template_is_told(llmzoo):
    bad = llmzoo("eval", "--env", "sudoku_v0", "--policy", "tiny", "--system", "Be brief.")
    assert bad.code == 2
    assert "tiny has no chat template: system would have no effect" in bad.err
    bad = llmzoo("eval", "--env", "sudoku_v0", "--policy", "tiny", "--thought_end", "")
    assert bad.code == 2
