"""Reward functions with formatters as environments."""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from functools import partial

import numpy as np
import pytest
import torch
from pages import ROOT
from tiny_models import model, tokenizer

import llmzoo
from llmzoo import registry, testing
from llmzoo.adapters.reward_calls import RewardCall, RewardFunctionError
from llmzoo.adapters.reward_functions import from_reward_function
from llmzoo.cli import main
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy

TASKS = [{"prompt": f"Add {a} and {b}.", "sum": a + b} for a in range(8) for b in range(8)]


def both_right(first, second, batch_items):
    """A half for each answer that holds the sum."""
    return [
        sum(str(item["sum"]) in text for text in texts) / 2
        for *texts, item in zip(first, second, batch_items, strict=True)
    ]


def feedback(prompt, agent_completions, num_agents, prompt_history_per_agent, **histories):
    """The next turn's prompts name the turn and what was said."""
    turn = len(prompt_history_per_agent[0])
    said = " and ".join(agent_completions)
    return [f"{prompt} Turn {turn}: you said {said}." for _ in range(num_agents)]


def adding(**settings):
    return from_reward_function(both_right, tasks=TASKS, **settings)


two_turns = partial(adding, turns=2, external_transition=feedback)

# what an episode is


def test_an_episode_worked_out_by_hand():
    """Turn 1: one answer of two is right, 0.5; turn 2: both, 1. Both agents are paid both."""
    env = two_turns(
        formatters=[
            lambda item: f"A: {item['prompt']}",
            lambda item, external_prompts=None: f"B: {external_prompts or item['prompt']}",
        ]
    )
    env.reset(options={"task": 0})
    task = env.unwrapped.tasks[0].columns
    assert env.agents == ["agent_0", "agent_1"]
    assert env.observe("agent_0") == f"A: {task['prompt']}"
    assert env.observe("agent_1") == f"B: {task['prompt']}"
    env.step(str(task["sum"]))
    assert env.observe("agent_1") == f"B: {task['prompt']}"  # at the same time
    env.step("no idea")
    assert env.rewards == {"agent_0": 0.5, "agent_1": 0.5}
    later = f"{task['prompt']} Turn 1: you said {task['sum']} and no idea."
    assert env.observe("agent_0") == f"A: {later}"
    assert env.observe("agent_1") == f"B: {later}"
    for _ in range(2):
        env.step(f"It is {task['sum']}")
    assert env.rewards == {"agent_0": 1.0, "agent_1": 1.0}
    assert env.terminations == {"agent_0": True, "agent_1": True}
    for agent in env.agents:
        assert env.infos[agent]["success"] is True
        assert env.infos[agent]["reward_components"] == {"team": 1.0}


def test_transitions_are_given_the_whole_history():
    given = []

    def transition(**call):
        given.append(call)
        return ["next 0", "next 1"]

    env = adding(turns=3, external_transition=transition, external_prompt_passthrough=True)
    env.reset(options={"task": 1})
    prompt = env.observe("agent_0")
    for text in ("a", "b", "c", "d", "e", "f"):
        env.step(text)
    assert [call["response_history_per_agent"] for call in given] == [
        [["a"], ["b"]],
        [["a", "c"], ["b", "d"]],
    ]
    assert given[1]["prompt_history_per_agent"] == [[prompt, "next 0"], [prompt, "next 1"]]
    assert given[1]["agent_completions"] == ["c", "d"]
    assert given[1]["prompt"] == prompt
    assert env.observe("agent_1") == "next 1"


def test_tasks_are_the_functions_to_spoil():
    """What a function does to its task changes no later episode."""

    def spoiling(first, batch_items):
        batch_items[0]["words"].append("spoiled")
        return [float(len(batch_items[0]["words"]))]

    env = from_reward_function(
        spoiling,
        tasks={"train": [{"prompt": "p", "words": ["one"]}]},
        agents=1,
        formatters=lambda item: item["words"].append("x") or item["prompt"],
    )
    for _ in range(2):
        env.reset(seed=0)
        env.step("answer")
        assert env.rewards == {"agent_0": 2.0}


def test_an_endless_answer_counts_as_an_empty_one():
    heard = []
    env = from_reward_function(
        lambda completions, **rest: heard.append(completions) or [0.25], tasks=["p"] * 1, agents=1,
        split="all",
    )  # fmt: skip
    env.reset(seed=0)
    env.step("x" * 20_001)
    assert heard == [[""]]
    assert "longer than 20000" in env.infos["agent_0"]["error"]


# the promises of every environment of ours


@pytest.mark.parametrize(
    "env_fn", [adding, two_turns, partial(adding, agents=["left_0", "right_1"])]
)
def test_it_conforms(env_fn):
    testing.check_env(env_fn, cycles=20)
    testing.check_text_spaces(env_fn)
    testing.check_seeds(env_fn)
    testing.check_rewards(env_fn)
    testing.check_observations_do_not_grow(env_fn)
    testing.check_fork(env_fn)
    testing.check_hostile_text(env_fn, testing.hostile_texts(60))
    testing.check_splits(env_fn, 100)


def test_splits_as_they_are_given():
    given = {"train": ["a", "b", "b"], "test": ["c"]}
    make = partial(from_reward_function, lambda x, y: [0.0], tasks=given)
    seen = {}
    for split in ("train", "test", "all"):
        env = make(split=split)
        env.reset(seed=0)
        count = env.infos["agent_0"]["tasks"]
        seen[split] = []
        for number in range(count):
            env.reset(options={"task": number})
            seen[split].append(env.observe("agent_0"))
        assert env.infos["agent_0"]["split"] == split
    assert seen == {"train": ["a", "b"], "test": ["c"], "all": ["a", "b", "c"]}


def test_tasks_of_a_file(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    env = from_reward_function(both_right, tasks=path, split="all")
    env.reset(seed=0)
    assert env.infos["agent_0"]["tasks"] == len(TASKS)
    assert env.infos["agent_0"]["source"] == str(path)


# how functions are called

FORMS = [
    (2, lambda a, b: [len(a[0]) + len(b[0])], 5),
    (2, lambda *answers: [sum(len(own[0]) for own in answers)], 5),
    (2, lambda prompts, a, b: [len(prompts[0]) + len(a[0]) + len(b[0])], 11),
    (2, lambda p, a, b: [len(p[0]) + len(a[0]) + len(b[0])], 11),
    (2, lambda answers: [sum(len(own[0]) for own in answers)], 5),
    (2, lambda a, b, batch_items: [batch_items[0]["n"] + len(a[0])], 10),
    (2, lambda a, b, **rest: [sum(map(len, rest["prompts"])) + rest["batch_items"][0]["n"]], 14),
    (2, lambda a, b, weight=0.5: [weight * len(a[0])], 1.0),
    (1, lambda a: [len(a[0])], 2),
    (1, lambda p, a: [len(p[0]) * len(a[0])], 12),
    (1, lambda prompts, completions, n, **columns: [n[0] + len(completions[0])], 10),
    (1, lambda completions, **columns: [columns["n"][0]], 8),
    (1, lambda completions, *, n: [n[0] * len(completions[0])], 16),
    (1, lambda a: np.array([1.5]), 1.5),
    (1, lambda a: torch.tensor([0.25]), 0.25),
    (1, lambda a: 3, 3),
    (1, lambda a: (True,), 1),
]


@pytest.mark.parametrize(("agents", "function", "reward"), FORMS)
def test_forms_of_reward_functions(agents, function, reward):
    """Answers "ab" and "cde", prompts of six letters, a task with n = 8."""
    call = RewardCall(function, agents, ["prompt", "n"])
    task = {"prompt": "prompt", "n": 8}
    assert call(["prompt", "second"][:agents], ["ab", "cde"][:agents], task) == reward


# CoMLRL 1.4.3 counts a batch_items or a default among the answers, and then leaves it out
ALIKE = [
    form
    for form in FORMS
    if form[0] == 2 and {"batch_items", "weight"}.isdisjoint(inspect.signature(form[1]).parameters)
]


@pytest.mark.parametrize(("agents", "function", "reward"), ALIKE)
def test_comlrl_calls_them_alike(agents, function, reward):
    utils = pytest.importorskip("comlrl.utils.reward_utils", reason="comlrl is not installed")
    given = utils.call_reward_function(
        function,
        ["prompt"],
        [["ab"], ["cde"]],
        num_agents=agents,
        batch_items=[{"prompt": "prompt", "n": 8}],
    )
    assert given == [reward]


@pytest.mark.parametrize(
    ("agents", "function"),
    [
        (2, lambda: [0.0]),
        (2, lambda a, b, c, d: [0.0]),
        (3, lambda a, b: [0.0]),
        (1, lambda completions, *, unknown: [0.0]),
    ],
)
def test_functions_that_fit_no_form(agents, function):
    with pytest.raises(ConfigError, match=r"<lambda>\(.*does not fit \d agents"):
        RewardCall(function, agents, ["prompt"])


def broken(returned):
    def judge(first, second):
        if isinstance(returned, Exception):
            raise returned
        return returned

    return judge


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (ValueError("no luck"), r"raised ValueError\('no luck'\) for the answers 'one', 'two'"),
        ([1.0, 2.0], r"returned \[1.0, 2.0\]: 2 values for one joint answer of 2 agents"),
        ([], "0 values"),
        ([[1.0]], "1 values for one joint answer"),
        ([float("nan")], r"returned \[nan\] .*rewards are finite"),
        ([None], "rewards are finite"),
        (float("inf"), "rewards are finite"),
        (["good"], "no list of numbers"),
        ({"a": 1}, "no list of numbers"),
    ],
)
def test_functions_that_return_nonsense_are_named(returned, says):
    env = from_reward_function(broken(returned), tasks=["p"], split="all")
    env.reset(seed=0)
    env.step("one")
    with pytest.raises(RewardFunctionError, match=says) as caught:
        env.step("two")
    assert "test_reward_functions.broken.<locals>.judge" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"turns": 2}, ConfigError, "external_transition returns the prompts"),
        ({"external_transition": feedback}, ConfigError, "turns=1"),
        ({"turns": 2, "external_transition": lambda x: []}, ConfigError, "must take prompt"),
        ({"formatters": [str]}, ConfigError, "1 formatters for 2 agents"),
        ({"agents": 0}, ConfigError, "agents must be at least 1"),
        ({"agents": ["a", "a"]}, ConfigError, "a name of its own"),
        ({"split": "dev"}, ConfigError, "split must be one of"),
        ({"tasks": {"dev": ["a"]}}, UnknownNameError, "split in tasks 'dev'"),
        ({"tasks": {"train": ["a"], "test": ["a"]}}, ConfigError, "1 tasks stand in"),
        ({"tasks": {"test": ["a"]}}, ConfigError, "none in split 'train'"),
        ({"tasks": [3]}, ConfigError, "a text or a mapping, got 3"),
        ({"tasks": "nowhere.jsonl"}, ConfigError, "holds no tasks"),
    ],
)
def test_settings_that_mean_nothing(settings, error, says):
    with pytest.raises(error, match=says):
        from_reward_function(both_right, **{"tasks": TASKS, **settings})


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"formatters": lambda item: 3}, "of agent_0 returned a int, not a text"),
        ({"formatters": lambda item: item["no"]}, "of agent_0 raised KeyError"),
        (
            {"turns": 2, "external_transition": lambda **call: ["one"]},
            "returned .*it must be a list of 2 prompts",
        ),
        (
            {"turns": 2, "external_transition": lambda **call: 1 / 0},
            "raised ZeroDivisionError",
        ),
    ],
)
def test_formatters_and_transitions_that_fail_are_named(settings, says):
    env = adding(**settings)

    def play():
        env.reset(seed=0)
        env.step("a")
        env.step("b")

    with pytest.raises(RewardFunctionError, match=says):
        play()


def test_tasks_without_prompts_need_formatters():
    env = from_reward_function(both_right, tasks=[{"question": "?"}], split="all")
    with pytest.raises(ConfigError, match="no column 'prompt', only question"):
        env.reset(seed=0)


# it trains, and it is a name on the command line

LETTERS = [{"prompt": letter} for letter in "UD"]


def parity(completions, prompt):
    """1 where the answer's first character is even for U, odd for D."""
    return [
        float(text != "" and ord(text[0]) % 2 == "UD".index(asked))
        for text, asked in zip(completions, prompt, strict=True)
    ]


@pytest.mark.slow
def test_it_learns(tmp_path):
    """Chance gives a half; a few steps teach a tiny model which letters are paid."""
    player = TransformersPolicy(model(), tokenizer(), sampling=Sampling(max_new_tokens=1))
    result = llmzoo.fit(
        "magrpo",
        partial(from_reward_function, parity, tasks=LETTERS, agents=1, split="all"),
        out=tmp_path / "run",
        policies={"agent_0": player},
        steps=25,
        episodes_per_step=8,
        learner_args={"learning_rate": 5e-3, "group_size": 8},
        eval_tasks=16,
        eval_split="all",
        quiet=True,
    )
    assert result.after["success"] > 0.9 > result.before["success"]


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "judged.py").write_text(
        "from functools import partial\n"
        "from llmzoo import from_reward_function\n"
        "def longer(first, second):\n"
        "    return [float(len(first[0]) > len(second[0]))]\n"
        "env = partial(from_reward_function, longer, tasks=[f'Write {n} words.' for n in range(20)])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "judged", raising=False)
    command = ["eval", "--env", "judged:env", "--policy", "random", "--tasks", "5", "--json"]
    assert main(command) == 0, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    assert 0 <= result["success"] <= 1
    assert registry.make("judged:env", agents=["left", "right"]).possible_agents[0] == "left"


def test_reached_from_the_top():
    assert llmzoo.from_reward_function is from_reward_function


@pytest.mark.slow
def test_the_example(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reward_function.py", "--out", str(tmp_path / "run")])
    runpy.run_path(str(ROOT / "examples/adapters/reward_function.py"), run_name="__main__")
    assert "success before" in capsys.readouterr().out
