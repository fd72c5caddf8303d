"""Fairness, worked out by hand."""

from __future__ import annotations

import pytest

from llmzoo.envs.crowd.fairness import measure_fairness


@pytest.mark.parametrize(
    ("amounts", "fairness"),
    [
        ((3, 3, 3), 1.0),
        ((0, 0), 1.0),
        ((5,), 1.0),
        ((4, 0, 0, 0), 0.0),
        # |1 - 3| twice: 4 / (2 * 2 * 4) = 1/4, times 2 / 1
        ((1, 3), 0.5),
        # differences 1, 1, 2, twice: 8 / (2 * 3 * 6) = 2/9, times 3 / 2
        ((1, 2, 3), 1 - 1 / 3),
    ],
)
def test_fairness(amounts, fairness):
    assert measure_fairness(amounts) == pytest.approx(fairness)
    assert measure_fairness(amounts[::-1]) == pytest.approx(fairness)
