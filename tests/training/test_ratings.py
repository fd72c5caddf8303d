"""Ratings of a league by openskill: single games worked out by hand, and truth covered by the intervals."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from llmzoo.errors import MissingExtraError
from llmzoo.evaluation.league import league
from llmzoo.evaluation.ratings import rate_players


def test_a_win_between_two_new_players():
    """Weng and Lin's update: c^2 = 2 (25/3)^2 + 2 (25/6)^2 and each wins with probability 1/2, so both move by
    (sigma^2 / c) / 2, and each variance loses the share (sigma^2 / c^2) / 4 of itself."""
    sigma = 25 / 3
    c = math.sqrt(2 * sigma**2 + 2 * (25 / 6) ** 2)
    shrunk = sigma * math.sqrt(1 - (sigma / c) ** 2 / 4)
    (winner, first), (loser, second) = rate_players(2, [(0, 1, 1.0)])
    assert winner == pytest.approx(25 + sigma**2 / c / 2)
    assert loser == pytest.approx(25 - sigma**2 / c / 2)
    assert first == second == pytest.approx(shrunk)


def test_a_draw_moves_no_mean_of_equals_and_lowers_that_of_the_stronger():
    (one, spread), (other, _) = rate_players(2, [(0, 1, 0.5)])
    assert one == other == 25
    assert spread < 25 / 3
    stronger = rate_players(2, [(0, 1, 1.0)])[0][0]
    assert 25 < rate_players(2, [(0, 1, 1.0), (0, 1, 0.5)])[0][0] < stronger


def test_the_deviation_falls_with_the_square_root_of_the_number_of_games():
    few = rate_players(2, [(0, 1, 0.5)] * 1000)[0][1]
    many = rate_players(2, [(0, 1, 0.5)] * 4000)[0][1]
    assert few / many == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize(("count", "deals", "spread"), [(3, 60, 0.5), (5, 40, 1.0)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(count, deals, spread):
    """Truth in openskill's units: a difference of beta * sqrt(2) is a difference of 1 in log odds."""
    chance = np.random.default_rng(0)
    covered = []
    for _ in range(25):
        truth = chance.normal(size=count) * spread
        games = [
            (i, j, float(chance.random() < 1 / (1 + math.exp(truth[j] - truth[i]))))
            for _ in range(deals)
            for i in range(count)
            for j in range(count)
            if i != j
        ]
        means, deviations = np.array(rate_players(count, games)).T
        errors = means - means.mean() - (truth - truth.mean()) * 25 / 6 * math.sqrt(2)
        covered += [*(abs(errors) < 1.96 * deviations)]
    assert np.mean(covered) >= 0.9


def test_without_openskill_nothing_is_played(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openskill", None)
    players = ["expert", "noisy_expert"]
    with pytest.raises(MissingExtraError, match=r"pip install 'llmzoo-marl\[league\]'"):
        league("kuhn_poker_v0", players, out=tmp_path / "l", deals=2)
    assert not (tmp_path / "l").exists()
