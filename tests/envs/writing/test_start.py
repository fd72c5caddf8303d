"""The start: every better text earns more, from the first word on, and no degenerate one much."""

from __future__ import annotations

import random
import statistics
from itertools import pairwise

import pytest

import llmzoo
from llmzoo.envs.writing.scoring import MAX_START, PARTS, TRANSITIONS, range_closeness
from tests.attacks.rewards.writing import IDS

TASKS = (0, 24, 48)
OFF_TOPIC = "Shares of the company fell by a tenth after its quarterly report."
every_id = pytest.mark.parametrize("id", IDS)


def made(id, task=0, **kwargs):
    env = llmzoo.make(id, split="all", source="sample", **kwargs).unwrapped
    env.reset(seed=0, options={"task": task})
    return env


def paid(id, task, *texts, **kwargs):
    env = made(id, task, **kwargs)
    for text in texts:
        env.step(text)
    return env.rewards[env.possible_agents[0]]


def ladder(id, task, agent):
    """Answers of one agent, each better than the one before."""
    env = made(id, task)
    honest = env.expert(env.possible_agents[agent])
    words = honest.split()
    sentence = " ".join(words[: len(words) // 4])
    copied = env.episode.task.text.split()[: len(words) * 2 // 3]
    noisy_expert = " ".join([*words[: len(words) // 3], *copied])
    if env.authors[agent] == "detailed_1":  # a few words and a copy are worse than a few words
        joining = {word for phrases in TRANSITIONS.values() for word in phrases}
        noisy_expert = " ".join(word for word in words if word.lower() not in joining)
    return ["", words[0], OFF_TOPIC, sentence, noisy_expert, honest]


def test_near():
    assert range_closeness(32, 64, 192) == 0.5
    assert range_closeness(64, 64, 192) == range_closeness(192, 64, 192) == 1.0
    assert range_closeness(384, 64, 192) == 0.5
    assert range_closeness(0, 64, 192) == 0.0
    assert range_closeness(5, 2.0, float("inf")) == 1.0


@pytest.mark.slow
@every_id
def test_every_better_answer_earns_more(id):
    """Of both agents at once, and of one agent next to an honest answer of the other."""
    for task in TASKS:
        first, second = (ladder(id, task, agent) for agent in (0, 1))
        earned = [paid(id, task, *pair) for pair in zip(first, second, strict=True)]
        assert earned[0] == 0.0
        assert all(less < more for less, more in pairwise(earned)), (task, earned)
        for pairs in ([(text, second[-1]) for text in first], [(first[-1], t) for t in second]):
            earned = [paid(id, task, *pair) for pair in pairs[:-1]] + earned[-1:]
            assert all(less < more for less, more in pairwise(earned)), (task, earned)


@every_id
def test_one_author_climbs_too(id):
    """Also without the delimiter, which a weak model does not write."""
    first, second = (ladder(id, 0, agent) for agent in (0, 1))
    alone = ["", first[1], first[-1]]
    both = [f"{first[-1]}\n=====\n{text}" for text in second[1:]]
    answers = [*alone, *both[::2]]
    earned = [paid(id, 0, answer, num_agents=1) for answer in answers]
    assert earned[0] == 0.0
    assert all(less < more for less, more in pairwise(earned)), earned
    assert earned[2] <= MAX_START / 2


@every_id
def test_the_start_is_a_part_and_structural_has_none(id):
    env = made(id)
    texts = [ladder(id, 0, agent)[3] for agent in (0, 1)]
    for text in texts:
        env.step(text)
    parts = env.infos[env.possible_agents[0]]["reward_components"]
    assert tuple(parts) == PARTS
    assert 0 < parts["start"] <= MAX_START
    assert paid(id, 0, "", "", reward="structural") == 0.0


@pytest.mark.slow
@every_id
def test_degenerate_policies_earn_less_than_noisy_experts(id):
    rng = random.Random(0)
    tasks = range(0, 62, 8)

    def mean(pair):
        return statistics.mean(paid(id, task, *pair(made(id, task))) for task in tasks)

    noisy_expert = mean(lambda env: [env.noisy_expert(agent, rng) for agent in env.possible_agents])
    degenerate = {
        "empty": lambda env: ["", ""],
        "one word": lambda env: ["the", "the"],
        "constant": lambda env: [OFF_TOPIC * 4, OFF_TOPIC * 6],
        "copy of the prompt": lambda env: [env.observe(agent) for agent in env.possible_agents],
        "copy of the source": lambda env: [env.episode.task.text] * 2,
        "words of the source": lambda env: (
            [" ".join(rng.sample(env.episode.task.text.split(), 60))] * 2
        ),
    }
    for name, pair in degenerate.items():
        assert mean(pair) < noisy_expert, name


@pytest.mark.slow
@every_id
def test_weak_answers_differ_in_what_they_earn(id):
    """Texts as a weak model writes them: of any length, half of their words from the source."""
    rng = random.Random(0)
    words = [*made(id).episode.task.text.split(), *OFF_TOPIC.split() * 10]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 120))) for _ in range(40)]
    assert len({round(paid(id, 0, text, text), 6) for text in texts}) >= 38
