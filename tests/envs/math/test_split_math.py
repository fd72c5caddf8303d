"""The split view of word problems: each agent reads every other number, and messages bring the rest."""

from __future__ import annotations

import functools
import random
from dataclasses import replace

import golden
import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.math import split_view
from llmzoo.errors import ConfigError

REASONER, TOOL = AGENTS = ("reasoner_0", "tool_1")
SPLIT = {"view": "split", "family": "word_problems"}
TEXT = "Ada has 12 figs. She buys 3 bags of 7 figs for 2.5 crowns, and then twice as many."


def made(task=0, **kwargs):
    env = llmzoo.make("math_v0", split="test", **{**SPLIT, **kwargs}).unwrapped
    env.reset(options={"task": task})
    return env


def with_numbers(env, one_agent):
    """The same episode with other numbers at the places that ``agent`` does not read."""
    task = env.episode.task
    changed = {}
    for name in ("question", "terse"):
        other = split_view.visible_half(getattr(task, name), AGENTS.index(one_agent))
        while split_view.HIDDEN in other:
            other = other.replace(split_view.HIDDEN, "98761", 1)
        changed[name] = other
    env.episode = replace(
        env.episode, task=replace(task, **changed, answer="31", program="print(31)")
    )
    return env


@pytest.fixture
def few_samples(monkeypatch):
    """Guesses come from 2,000 drawn problems, which take a tenth of the usual time."""
    monkeypatch.setattr(split_view, "_SAMPLES", 2_000)
    monkeypatch.setattr(split_view, "_samples", functools.cache(split_view._samples.__wrapped__))


def test_the_halves_of_a_problem():
    assert (
        split_view.visible_half(TEXT, 0)
        == "Ada has 12 figs. She buys __ bags of 7 figs for __ crowns, and then twice as many."
    )
    assert (
        split_view.visible_half(TEXT, 1)
        == "Ada has __ figs. She buys 3 bags of __ figs for 2.5 crowns, and then __ as many."
    )
    assert split_view.expert_message(TEXT, 1) == "I see: 3, 2.5"
    assert split_view.join_halves(TEXT, 0, "Well.\n# I see: 3, 2.5\nprint(1)") == TEXT
    assert split_view.join_halves(TEXT, 0, "I see: 4, 2.5") == TEXT.replace("3 bags", "4 bags")
    assert split_view.join_halves(TEXT, 0, "I see: 3") is None
    assert split_view.join_halves(TEXT, 0, "3, 2.5") is None


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize("one_agent", AGENTS)
def test_a_prompt_does_not_depend_on_what_the_agent_does_not_read(one_agent, prompt):
    answers = {REASONER: "I think. \\boxed{5}", TOOL: "```python\nprint(6)\n```"}
    for task in range(30):
        first = made(task, prompt=prompt)
        second = with_numbers(made(task, prompt=prompt), one_agent)
        assert first.episode.task.terse != second.episode.task.terse
        for _ in range(4 * 2):
            agent = first.agent_selection
            if agent == one_agent:
                assert first.observe(one_agent) == second.observe(one_agent)
            first.step(answers[agent])
            second.step(answers[agent])
        assert not first.success


@pytest.mark.parametrize("one_agent", AGENTS)
def test_the_expert_reads_no_more_than_its_prompts(one_agent, few_samples):
    """What it sends, and what it guesses beside an agent that says nothing, are the same in both tasks."""
    for task in range(5):
        said = []
        for env in (made(task), with_numbers(made(task), one_agent)):
            for _ in range(2):
                for agent in AGENTS:
                    said += [env.expert(one_agent)] if agent == one_agent else []
                    env.step(env.expert(one_agent) if agent == one_agent else "-")
        assert said[:2] == said[2:]


def test_the_other_agent_reads_the_numbers_once_it_is_told():
    env = made()
    numbers = env.expert(TOOL)
    env.step("hello")
    env.step(numbers)
    assert f"> {numbers}" in env.observe(REASONER).splitlines()


def test_messages_are_quoted_and_cut():
    env = made(message_chars=20)
    env.step("Round 4 of 4.\nThe problem:\u2028" + "x" * 100)
    env.step("-")
    lines = str(env.observe(TOOL)).splitlines()
    at = lines.index("reasoner_0 wrote:")
    assert lines[at + 1 : at + 3] == ["> Round 4 of 4.", "> The pr... (127 characters)"]
    assert lines.count("The problem:") == 1


@pytest.mark.parametrize(
    "text", ["I see: 1, 2, 3, 4", "I see: ", "I see: ,.,", "I see: 9" * 100, "\ud800"]
)
def test_the_players_play_on_after_a_hostile_message(text, few_samples):
    env = made(family="word_problems")
    env.step(text)
    env.step(text)
    for agent in AGENTS:
        assert env.expert(agent)
        assert env.noisy_expert(agent, random.Random(0))
    assert "\ud800" not in env.observe(REASONER)


def test_the_pair_solves_tasks_by_messages():
    testing.check_expert(lambda: llmzoo.make("math_v0", **SPLIT), range(60), best=2.0)


def test_the_full_view_takes_no_part_in_it():
    env = llmzoo.make("math_v0", family="word_problems", split="test")
    env.reset(options={"task": 0})
    assert split_view.HIDDEN not in env.observe(REASONER)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"view": "half"}, "view must be one of full, split"),
        ({"view": "split"}, "family='word_problems'"),
        ({**SPLIT, "num_agents": 1}, "is for two agents"),
        ({**SPLIT, "aggregator": True}, "is for two agents"),
        ({**SPLIT, "reasoners": 0, "tools": 2}, "and a reasoner"),
        ({**SPLIT, "message_chars": 0}, "message_chars must be 1 to 2000"),
    ],
)
def test_arguments_of_the_view(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("math_v0", **arguments)


@pytest.mark.slow
def test_transcript_of_the_split_view():
    forms = [
        f"##### {prompt}\n" + golden.played(made(prompt=prompt), ("mine are\nhidden", "print(1)"))
        for prompt in ("full", "terse")
    ]
    golden.check("split_math", "\n".join(forms) + "\n")
