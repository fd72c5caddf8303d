"""relay_v0: what passes along the chain, and why every agent is needed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import pytest

import llmzoo
from llmzoo.envs.signals.chain import ChainState
from llmzoo.envs.signals.relay import RelayTask, apply_tables
from llmzoo.errors import ConfigError

# 1 2 3 4 become 2 3 4 1, and then 1 becomes 4, 2 becomes 3 and so on
TASK = RelayTask(secret=(0, 2), tables=((1, 2, 3, 0), (3, 2, 1, 0)))


def relay(task=TASK, messages=(), **arguments):
    env = llmzoo.make("relay_v0", **arguments)
    env.reset(seed=0)
    env.unwrapped.episode = ChainState(task, messages)
    return env


def test_the_tables_apply_in_order():
    assert apply_tables((0, 2), TASK.tables[:1]) == (1, 3)  # 13 becomes 24
    assert apply_tables((0, 2), TASK.tables) == (2, 0)  # and then 31


def test_the_experts_pass_it_on():
    env = relay()
    said = []
    for agent in env.possible_agents:
        said.append(env.unwrapped.expert(agent))
        env.step(said[-1])
    assert said == ["AC", "BD", "31"]
    assert env.infos["last_2"]["reward_components"] == {"right": 0.5, "solved": 0.5, "form": 0.1}
    assert env.infos["first_0"]["reward_components"] == env.infos["last_2"]["reward_components"]


@pytest.mark.parametrize(
    ("answer", "right", "error"),
    [
        ("31", 0.5, None),
        ("3 1", 0.5, None),
        ("32", 0.25, "wrong: not what the tables make of the secret"),
        ("13", 0.0, "wrong: not what the tables make of the secret"),
        ("311", None, "malformed: not 2 digits from 1 to 4"),
        ("35", None, "malformed: not 2 digits from 1 to 4"),
        ("the answer is 31", 0.5, None),
        ("it is 31 or 32", None, "malformed: not 2 digits from 1 to 4"),
    ],
)
def test_what_an_answer_is_worth(answer, right, error):
    env = relay()
    for text in ("AC", "BD", answer):
        env.step(text)
    info = env.infos["last_2"]
    assert info["error"] == error
    parts = {} if right is None else {"right": right, "solved": 0.5 * (not error), "form": 0.1}
    assert info["reward_components"] == parts


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"prompt": "terse"},
        {"num_agents": 1},
        {"num_agents": 6, "length": 3, "symbols": 8},
        {"length": 1, "vocab_size": 2},
        {"length": 6, "vocab_size": 2, "max_len": 12},
    ],
    ids=str,
)
def test_the_experts_solve_every_task(form):
    if form.get("length") == 1:
        with pytest.raises(ConfigError, match="2 letters in messages of 1 name at most 2 things"):
            llmzoo.make("relay_v0", **form)
        form = {**form, "max_len": 2}
    env = llmzoo.make("relay_v0", **form)
    for seed in range(200):
        env.reset(seed=seed)
        while env.agents and not env.terminations[env.agent_selection]:
            env.step(env.unwrapped.expert(env.agent_selection))
        assert env.infos[env.agent_selection]["success"]


def every_task(symbols=4, length=2):
    tables = list(permutations(range(symbols)))
    for secret in product(range(symbols), repeat=length):
        for pair in product(tables, repeat=2):
            yield RelayTask(secret, pair)


def best(known):
    """How often the best answer by what is ``known`` of a task is right, over all tasks."""
    answers = defaultdict(Counter)
    for task in every_task():
        answers[known(task)][apply_tables(task.secret, task.tables)] += 1
    right = sum(max(counts.values()) for counts in answers.values())
    return Fraction(right, sum(counts.total() for counts in answers.values()))


def test_every_agent_is_needed():
    """Exact, over all 9,216 tasks: what all the other agents know together."""
    assert best(lambda task: task) == 1
    assert best(lambda task: task.tables) == Fraction(1, 16)
    assert best(lambda task: (task.secret, task.tables[1])) == Fraction(1, 8)
    assert best(lambda task: (task.secret, task.tables[0])) == Fraction(1, 8)


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_the_last_agent_without_a_message_is_at_chance(prompt):
    """Exact: each of its prompts goes with each of the 16 answers equally often."""
    env = relay(prompt=prompt)
    answers = defaultdict(Counter)
    for task in every_task():
        if task.tables[0] not in (TASK.tables[0], TASK.tables[1]):
            continue  # two of the 24 tables of the middle agent, each of which keeps it at chance
        env.unwrapped.episode = ChainState(task, ("AA", None))
        answers[env.observe("last_2")][apply_tables(task.secret, task.tables)] += 1
    assert len(answers) == 24
    assert all(len(set(counts.values())) == 1 and len(counts) == 16 for counts in answers.values())


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_a_prompt_depends_on_nothing_that_the_agent_cannot_know(prompt):
    """The secret changes the first prompt alone, and each table the prompt of its agent alone."""
    agents = ["first_0", "middle_1", "last_2"]
    secret, (one, other) = TASK.secret, TASK.tables
    changed = [
        RelayTask((3, 1), (one, other)),
        RelayTask(secret, ((0, 1, 3, 2), other)),
        RelayTask(secret, (one, (0, 1, 3, 2))),
    ]
    messages = ("11", "22") if prompt == "terse" else ("AA", "BB")
    before = {a: relay(messages=messages, prompt=prompt).observe(a) for a in agents}
    for number, task in enumerate(changed):
        env = relay(task, messages, prompt=prompt)
        assert [a for a in agents if env.observe(a) != before[a]] == [agents[number]]


def test_a_message_is_read_by_the_next_agent_only():
    env = relay()
    env.step("CB")
    env.step("DA")
    assert [len(re.findall("CB", env.observe(a))) for a in env.possible_agents] == [0, 1, 0]
    assert [len(re.findall("DA", env.observe(a))) for a in env.possible_agents] == [0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_agents": 2}, "num_agents must be 3 to 8, got 2"),
        (
            {"num_agents": 3, "chain_length": 4},
            r"num_agents must be 1, or as many as chain_length \(4\), got 3",
        ),
        ({"length": 7}, "length must be 1 to 6, got 7"),
        ({"symbols": 9}, "symbols must be 2 to 8, got 9"),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("relay_v0", **arguments)
