"""Observations as text."""

import numpy as np
import pytest

from llmzoo.adapters.discrete import describe_observation, observation_to_text
from llmzoo.errors import ConfigError


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (3, "3"),
        ("your hand", "your hand"),
        (np.int64(3), "3"),
        (np.array(2.5), "2.5"),
        (np.array([1, 0, 0.25]), "1 0 0.25"),
        (np.array([True, False]), "1 0"),
        (np.array([[1, 2], [3, 4]]), "1 2\n3 4"),
        # planes of the last dimension, as PettingZoo's boards have them
        (np.array([[[1, 5], [2, 6]], [[3, 7], [4, 8]]]), "plane 0:\n1 2\n3 4\nplane 1:\n5 6\n7 8"),
        ({"observation": np.array([1, 2]), "action_mask": np.array([1, 0])}, "1 2"),
        ({"hand": 3, "table": np.array([[1, 2], [3, 4]])}, "hand: 3\ntable:\n1 2\n3 4"),
        ((1, np.array([2, 3])), "1\n2 3"),
    ],
)
def test_plain(seen, text):
    assert observation_to_text(seen, "player_0") == text


def test_what_nobody_reads_is_refused():
    assert len(observation_to_text(np.zeros((10, 100)), "a_0").split()) == 1000
    with pytest.raises(ConfigError, match=r"1001 numbers .*observation="):
        observation_to_text(np.zeros(1001), "a_0")


def test_observed_has_a_word_before_it():
    assert describe_observation(3, "a_0") == "Observation: 3"
    assert describe_observation(np.eye(2), "a_0") == "Observation:\n1 0\n0 1"
