"""A request's noise_keys is its own: whatever is asked beside it, in whatever batch or order."""

import pytest
import torch
from tiny_models import policy

from llmzoo.models.sampling import Sampling, Uniforms
from llmzoo.policies.base import NoiseKeys, PolicyRequest

CPU = torch.device("cpu")


def asked(prompts, noises):
    return [
        PolicyRequest(agent="a_0", observation=p, env=None, noise=n)
        for p, n in zip(prompts, noises, strict=True)
    ]


def ids(player, requests, k=3):
    return [[c.ids for c in answers] for answers in player.respond(requests, k)]


@pytest.mark.slow
def test_answers_do_not_depend_on_what_is_asked_beside():
    player = policy(sampling=Sampling(max_new_tokens=80))  # more than a block of numbers
    prompts, noises = ["up", "left is right", "up", "12"], [7, 8, 9, 7]
    together = ids(player, asked(prompts, noises))
    assert [ids(player, [request])[0] for request in asked(prompts, noises)] == together
    backwards = ids(player, asked(prompts[::-1], noises[::-1]))
    assert backwards[::-1] == together
    assert ids(
        policy(sampling=Sampling(max_new_tokens=80), max_rows=4), asked(prompts, noises)
    ) == (together)
    assert together[0] != together[2]  # the same prompt, other noise
    assert len(set(together[0])) == 3  # nor are a request's K answers the same


def test_a_seed_begins_the_noise_anew():
    player = policy()
    first = ids(player, asked(["up"], [None]))
    assert ids(player, asked(["up"], [None])) != first  # the policy's own order goes on
    player.reseed(0)
    assert ids(player, asked(["up"], [None])) == first
    player.reseed(1)
    assert ids(player, asked(["up"], [None])) != first
    twin = player.with_sampling(temperature=1.0)
    twin.reseed(0)
    assert ids(player, asked(["up"], [None])) == first


def test_named_and_numbered_requests_do_not_meet():
    noise_keys = NoiseKeys(5)
    named = noise_keys.keys(asked(["a", "b"], [1, 2]))
    numbered = noise_keys.keys(asked(["a", "b"], [None, None]))
    assert len({*named, *numbered}) == 4
    assert noise_keys.keys(asked(["c"], [1])) == named[:1]
    assert NoiseKeys(6).keys(asked(["a"], [1])) != named[:1]


def test_numbers_are_uniform_and_unlike_between_rows_and_blocks():
    uniforms = Uniforms([3, 4], 200, CPU)
    numbers = torch.stack([uniforms.at(step) for step in range(128)], dim=1)  # two blocks
    assert numbers.shape == (400, 128)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    # 51,200 numbers: the mean has a standard error of 0.2887 / sqrt(51200) = 0.0013
    assert abs(numbers.mean() - 0.5) < 0.0065
    assert len(numbers.flatten().unique()) == numbers.numel()
    again = Uniforms([4], 200, CPU)
    assert torch.equal(again.at(100), numbers[200:, 100])  # a block by itself is the same
