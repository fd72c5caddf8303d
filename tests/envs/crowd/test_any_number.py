"""Philosophers and fishers keep the promises of the design with any number of agents from 2 to 8."""

from __future__ import annotations

import random
from functools import partial

import pytest

import llmzoo
from llmzoo import testing


def noisy_expert(env, agent):
    return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))


@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("id", ["philosophers_v0", "commons_v0"])
def test_any_number_of_agents(id, count):
    form = {"num_agents": count, "prompt": "terse", "message_chars": 40 * (count % 2)}
    make = partial(llmzoo.make, id, **form)
    testing.check_env(make, cycles=5, parallel_fn=partial(llmzoo.parallel, id, **form))
    testing.check_text_spaces(make)
    testing.check_seeds(make, seeds=[count], act=noisy_expert)
    testing.check_rewards(make, episodes=2, act=noisy_expert)
    testing.check_credit(make, episodes=2, act=noisy_expert)
    testing.check_observations_do_not_grow(make, episodes=2, act=noisy_expert)
    testing.check_hostile_text(make, testing.hostile_texts(20, seed=count))


@pytest.mark.slow
@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("id", ["philosophers_v0", "commons_v0"])
def test_forks_and_groups(id, count):
    make = partial(llmzoo.make, id, num_agents=count)
    testing.check_fork(make, seed=count, act=noisy_expert)
    testing.check_groups(make)
