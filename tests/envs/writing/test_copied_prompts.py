"""Copying the prompt pays nothing, be it the source, the instructions, or a filling of another text."""

from __future__ import annotations

import statistics

import pytest

import llmzoo


def earned(id, write, tasks=12):
    """The mean return of two authors who write a part of their prompts."""
    env = llmzoo.make(id, **llmzoo.spec(id).offline)
    returns = []
    for seed in range(tasks):
        env.reset(seed=seed)
        agents = env.possible_agents
        total = 0.0
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            total += reward
            env.step(None if terminated or truncated else write(str(env.observe(agent))))
        returns.append(total / len(agents))
    return statistics.mean(returns)


def second_half(prompt):
    words = prompt.split()
    return " ".join(words[len(words) // 2 :])


@pytest.mark.parametrize("id", ["arxiv_v0", "story_v0", "tldr_v0"])
def test_the_second_half_of_the_prompt_earns_no_more_than_a_start(id):
    """It is half instructions, which are not copied from the source."""
    assert earned(id, second_half) < 0.1


class Filled:
    """What a search found: a copied passage, an expert's text about another task, and the names here."""

    def __init__(self, id):
        env = llmzoo.make(id, **llmzoo.spec(id).offline).unwrapped
        env.reset(seed=1_000)
        self.other = env.episode.task
        self.turn = 0

    def __call__(self, prompt):
        source = prompt.partition("Title:")[2].partition("What counts:")[0]
        words = source.split()
        middle = " ".join(words[len(words) // 2 : len(words) // 2 + 30])
        names = " ".join(dict.fromkeys(word for word in words if word[:1].isupper()))
        text = self.other.parts[self.turn % 2]
        self.turn += 1
        return f"{middle}\n{text}\n{names}"


@pytest.mark.parametrize("id", ["arxiv_v0", "story_v0", "tldr_v0"])
def test_a_text_about_another_task_is_not_carried_by_pieces_of_this_one(id):
    assert earned(id, Filled(id)) < 0.12
