from __future__ import annotations

import copy

import numpy as np
import pytest

from llmzoo.spaces import FreeText, Observation


@pytest.mark.parametrize("text", ["", "a", "two\nlines", "漢字 🙂", "\x00\u202e", "x" * 100])
def test_contains_any_string_up_to_its_length(text):
    assert FreeText(100).contains(text)
    assert Observation(text) in FreeText(100)


@pytest.mark.parametrize("thing", ["x" * 101, 3, None, b"bytes", ["a"], np.array("a")])
def test_contains_nothing_else(thing):
    assert not FreeText(100).contains(thing)


def test_samples_follow_the_seed_and_fit():
    space, twin = FreeText(10, seed=7), FreeText(10, seed=7)
    samples = [space.sample() for _ in range(200)]
    assert samples == [twin.sample() for _ in range(200)]
    assert {len(s) for s in samples} == set(range(11))
    assert max(len(FreeText(1_000_000, seed=s).sample()) for s in range(100)) <= 64
    assert space.sample(mask=None) in space


def test_spaces_are_compared_by_length():
    assert FreeText(5) == FreeText(5) == copy.deepcopy(FreeText(5))
    assert FreeText(5) != FreeText(6)
    assert FreeText(5) != "FreeText(5)"
    assert repr(FreeText(5)) == "FreeText(5)"


def test_observation_is_a_string_with_the_dtype_of_its_space():
    observation = Observation("hello")
    assert observation == "hello"
    assert hash(observation) == hash("hello")
    assert isinstance(observation, str)
    assert observation.dtype == FreeText(5).dtype == np.dtype(str)
