"""Minibatches: every item once in each epoch, and as many as were asked for."""

import random

import pytest

from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.learners.updates.batch_training import minibatches


@pytest.mark.parametrize(
    ("items", "count", "sizes"),
    [(5, 4, [1, 1, 1, 2]), (8, 4, [2, 2, 2, 2]), (9, 2, [4, 5]), (2, 4, [1, 1]), (0, 4, [])],
)
def test_items_are_spread_evenly(items, count, sizes):
    config = SurrogateConfig(clip=0.2, epochs=2, minibatches=count)
    result = minibatches(range(items), config, random.Random(0))
    assert [len(m) for m in result] == sizes * 2
    for epoch in (result[: len(sizes)], result[len(sizes) :]):
        assert sorted(item for m in epoch for item in m) == list(range(items))
