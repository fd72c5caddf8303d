"""bfcl_multi_turn_v0: who reads what, what a turn pays, and what ends a dialogue."""

from __future__ import annotations

import json

import pytest

import llmzoo
from llmzoo.envs.forking import fork
from llmzoo.errors import ConfigError

DISK = {"root": {"home": {"type": "directory", "contents": {}}}}


def record(**changes):
    """Two turns: make a file, then list the folder."""
    return {
        "id": "multi_turn_base_0",
        "question": [
            [{"role": "user", "content": "Make an empty file a.txt."}],
            [{"role": "user", "content": "What is here now?"}],
        ],
        "initial_config": {"GorillaFileSystem": DISK},
        "involved_classes": ["GorillaFileSystem"],
        "path": ["GorillaFileSystem.touch", "GorillaFileSystem.ls"],
        "ground_truth": [["touch(file_name='a.txt')"], ["ls()"]],
        **changes,
    }


@pytest.fixture
def made(tmp_path):
    def make(given=None, **kwargs):
        path = tmp_path / "set.jsonl"
        path.write_text(json.dumps(given or record()) + "\n")
        kwargs = {"num_agents": 1, "split": "all", **kwargs}
        env = llmzoo.make("bfcl_multi_turn_v0", source=str(path), **kwargs)
        env.reset(seed=0)
        return env

    return make


def play(env, *answers):
    """The parts that the answers of one agent are paid in all, and its last info."""
    paid, info = {}, {}
    for answer in answers:
        env.step(answer)
        info = env.infos["caller_0"]
        for name, value in info["reward_components"].items():
            paid[name] = round(paid.get(name, 0.0) + value, 12)
    return paid, info


TOUCH, LIST, END = "[touch(file_name='a.txt')]", "[ls()]", "[]"


@pytest.mark.parametrize(
    ("answers", "parts", "success"),
    [
        # two checked turns of two: 0.15 for the responses and the state of each, 0.05 for their form
        ([TOUCH, END, LIST, END], (0.3, 0.3, 0.1, 0.3), True),
        (["[ls()]", TOUCH, "[pwd()]", END, LIST, END], (0.3, 0.3, 0.1, 0.3), True),
        ([TOUCH, END, "[pwd()]", END], (0.15, 0.15, 0.1, 0.0), False),
        # None is what mkdir returns too, so the response is there, and the state is not
        (["[mkdir(dir_name='a.txt')]", END], (0.15, 0.0, 0.05, 0.0), False),
        ([END], (0.0, 0.0, 0.05, 0.0), False),
        (["I have made it."], (0.0, 0.0, 0.0, 0.0), False),
        ([TOUCH, "Done!", LIST, END], (0.3, 0.3, 0.05, 0.3), True),
        ([TOUCH, "It is there. []", LIST, END], (0.3, 0.3, 0.1, 0.3), True),
        # the calls of both turns in the first: the second has none
        (["[touch(file_name='a.txt'), ls()]", END, END], (0.15, 0.15, 0.1, 0.0), False),
        # its response counts in the second turn all the same
        (["[touch(file_name='a.txt'), ls()]", END, "[pwd()]", END], (0.3, 0.3, 0.1, 0.3), True),
    ],
)
def test_what_a_dialogue_pays(made, answers, parts, success):
    paid, info = play(made(), *answers)
    found = [paid.get(name, 0.0) for name in ("response", "state", "form", "verdict")]
    assert found == pytest.approx(parts)
    assert info["success"] is success


def test_half_of_the_responses_earn_half(made):
    both = record(ground_truth=[["touch(file_name='a.txt')", "pwd()"], ["ls()"]])
    paid, info = play(made(both), TOUCH, END)
    # half of the responses of one turn of two, and the state is right
    assert (paid["response"], paid["state"]) == pytest.approx((0.075, 0.075))
    assert info["success"] is False


def test_a_turn_without_ground_truth_is_not_checked(made):
    """As in BFCL; but what is done there counts in the state of the next turn."""
    waits = record(
        question=[*record()["question"][:1], [], record()["question"][1]],
        missed_function={"1": ["touch"]},
        ground_truth=[[], ["touch(file_name='a.txt')"], ["ls()"]],
    )
    env = made(waits)
    assert '"name": "touch"' not in env.observe("caller_0")
    assert '"name": "mkdir"' in env.observe("caller_0")
    paid, _ = play(env, END)
    assert paid == {"response": 0, "state": 0, "form": pytest.approx(0.1 / 3), "verdict": 0}
    assert '"name": "touch"' in env.observe("caller_0")
    assert "More functions are available now: touch" in env.observe("caller_0")
    assert play(env, TOUCH, END, LIST, END)[1]["success"]
    assert play(made(waits), "[pwd()]", END, TOUCH, END, LIST, END)[1]["success"]
    assert not play(made(waits), "[mkdir(dir_name='b')]", END, TOUCH, END)[1]["success"]


def test_more_answers_with_calls_than_allowed(made):
    paid, info = play(made(max_steps=2), LIST, LIST, TOUCH)
    assert sum(paid.values()) == 0
    assert info["success"] is False
    assert info["error"] == "wrong: more than 2 answers with calls for one request"
    assert play(made(max_steps=2), LIST, TOUCH, END, LIST, LIST, END)[1]["success"]


def test_responses_are_shown_and_errors_too(made):
    env = made()
    env.step("[touch('a.txt'), nothing(), cat(file_name='/etc/passwd')]")
    seen = env.observe("caller_0")
    assert (
        "Response: Error during execution: GorillaFileSystem.touch() missing 1 required positional "
        "argument: 'file_name'" in seen
    )
    assert "Response: Error during execution: name 'nothing' is not defined" in seen
    assert """Response: {"error": "cat: '/etc/passwd': Invalid character"}""" in seen
    assert env.infos["caller_0"]["error"] is None
    env.step("[touch(file_name='a.txt'")
    assert env.infos["caller_0"]["error"].startswith("malformed: ")


def test_long_responses_are_cut(made):
    env = made(response_chars=20)
    env.step(f"[echo(content='{'x' * 500}')]")
    assert "x" * 21 not in env.observe("caller_0")


def test_the_planner_reads_names_and_the_caller_descriptions(made):
    env = made(num_agents=2)
    planner, caller = env.observe("planner_0"), env.observe("caller_1")
    assert "touch(file_name): Make an empty file in the current directory." in planner
    assert '"parameters"' not in planner
    assert '{"name": "touch", "description"' in caller
    env.step("Make the file.")
    assert "The planner says: Make the file." in env.observe("caller_1")
    env.step(TOUCH)
    assert "The planner says: (nothing)" in env.observe("caller_1")
    env.step("")
    assert env.infos["planner_0"]["error"] == "malformed: no advice"
    env.step(END)
    assert env.infos["caller_1"]["reward_components"]["form"] == 0
    assert "Call: touch(file_name='a.txt')\nResponse: None\nUser: What is here now?" in env.observe(
        "planner_0"
    )


def test_a_fork_has_its_own_state(made):
    env = made()
    copy = fork(env)
    copy.step(TOUCH)
    env.step("[ls()]")
    assert '{"current_directory_content": []}' in env.observe("caller_0")
    copy.step("[ls()]")
    assert '{"current_directory_content": ["a.txt"]}' in copy.observe("caller_0")
    assert play(env, TOUCH, END, LIST, END)[1]["success"]


def test_the_experts_solve_the_sample():
    for agents in (1, 2):
        result = llmzoo.evaluate(
            "bfcl_multi_turn_v0",
            "expert",
            tasks="all",
            split="all",
            env_args={"source": "sample", "num_agents": agents},
        )
        assert (result.tasks, result.success) == (34, 1.0)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"response_chars": 0}, "response_chars must be at least 1"),
        ({"prompt": "terse"}, "prompt must be one of full"),
        ({"category": "simple"}, "category must be one of None, base, miss_func"),
        ({"source": "nowhere"}, "source must be 'auto'"),
        ({"padding": "nowhere.py"}, "padding 'nowhere.py' cannot be read"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("bfcl_multi_turn_v0", **{"source": "sample", **kwargs})
