"""Bradley-Terry ratings against cases worked out by hand and an independent fit, and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from llmzoo.evaluation import weng_lin
from llmzoo.evaluation.ratings import ELO, bootstrap_ratings, bradley_terry, unbeaten_groups

NO_PRIOR = {"won": 1e-9, "lost": 1e-9}


def wins(*rows):
    return np.array(rows, dtype=float)


def test_two_players_without_a_prior():
    """Three wins of four are odds of 3: a difference of log 3, so 400 log10(3) = 190.85 points."""
    first, second = bradley_terry(wins([0, 3], [1, 0]), **NO_PRIOR)
    assert first - second == pytest.approx(math.log(3))
    assert ELO * (first - second) == pytest.approx(190.8485)


def test_draws_are_half_a_win_for_each():
    """Two wins and four draws of six: 4 points against 2, so odds of 2."""
    first, second = bradley_terry(wins([0, 4], [2, 0]), **NO_PRIOR)
    assert first - second == pytest.approx(math.log(2))


def test_three_players_without_a_prior():
    """Strengths 4, 2 and 1 win 2/3, 2/3 and 4/5 of their games, which is what was seen."""
    ratings = bradley_terry(wins([0, 2, 4], [1, 0, 2], [1, 1, 0]), **NO_PRIOR)
    assert ratings == pytest.approx([math.log(2), 0.0, -math.log(2)], abs=1e-8)


def test_two_players_of_whom_one_won_everything():
    """With the prior, ratings x and -x: 5 - 5 s(2x) + 1 - 2 s(x) = 0 for x = log 3, where s(x) = 3/4 and
    s(2x) = 9/10."""
    ratings = bradley_terry(wins([0, 5], [0, 0]))
    assert ratings == pytest.approx([math.log(3), -math.log(3)])


def test_three_players_with_the_prior():
    """Ratings log 3, 0, -log 3: the middle one won 1 of 4 and 3 of 4, as it should; the first won 3 of 4 and 5 of
    5, which is 5 - 9/2 more than it should, and the prior's 1 - 2 * 3/4 takes the half away again."""
    ratings = bradley_terry(wins([0, 3, 5], [1, 0, 3], [0, 1, 0]))
    assert ratings == pytest.approx([math.log(3), 0.0, -math.log(3)], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_an_independent_fit_finds_the_same(seed):
    chance = np.random.default_rng(seed)
    count = 6
    table = chance.poisson(4, size=(count, count)) * chance.integers(0, 2, size=(count, count)) / 2
    np.fill_diagonal(table, 0)
    won, lost = chance.exponential(size=(2, count))

    def loss(ratings):
        chance_of = 1 / (1 + np.exp(ratings[None, :] - ratings[:, None]))
        prior = won * np.log1p(np.exp(-ratings)) + lost * np.log1p(np.exp(ratings))
        return prior.sum() - (table * np.log(chance_of)).sum()

    found = minimize(loss, np.zeros(count), method="BFGS", options={"gtol": 1e-9}).x
    ratings = bradley_terry(table, won=won, lost=lost)
    assert ratings == pytest.approx(found - found.mean(), abs=1e-5)


def test_far_from_the_start_it_still_ends():
    """A thousand wins and no loss: s(2x) is near 1, and the prior's games decide. 1000 (1 - s(2x)) = 2 s(x) - 1
    is about 1, so 2x is about log 1000."""
    first, second = bradley_terry(wins([0, 1000], [0, 0]))
    assert first - second == pytest.approx(math.log(1000), abs=0.1)
    assert bradley_terry(wins([0, 1000], [0, 0]), won=1e-6, lost=1e-6)[0] > 5


def test_groups_of_players_who_never_lost_to_the_next():
    circle = wins([0, 1, 0], [0, 0, 1], [1, 0, 0])
    assert unbeaten_groups(circle) == [[0, 1, 2]]
    assert unbeaten_groups(wins([0, 0, 0], [3, 0, 1], [2, 1, 0])) == [[1, 2], [0]]
    assert unbeaten_groups(wins([0, 1], [0, 0])) == [[0], [1]]
    half = wins([0, 0.5], [0.5, 0])  # a draw joins
    assert unbeaten_groups(half) == [[0, 1]]


def ends(points, **options):
    drawn = bootstrap_ratings(np.array(points, dtype=float), **options)
    return np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])


def test_luck_that_the_deal_gives_to_both_cancels():
    """The same 40 games, won half by each. Where a deal decides who wins in either order, the deals are the
    units; where it gives a win to each, nothing is left to chance."""
    lucky = [[[0, 2], [0, 0]], [[0, 0], [2, 0]]] * 10
    split = [[[0, 1], [1, 0]]] * 20
    low, high = ends(lucky)
    # 20 deals: a standard error of 0.5 / sqrt(20) of the share, four times that of the log odds
    assert high - low == pytest.approx(2 * 1.96 * 4 * 0.5 / math.sqrt(20), rel=0.25)
    assert abs(low + high) < 0.5
    low, high = ends(split)
    assert high - low < 0.3  # from the games of the prior


def test_who_won_everything_has_an_interval_as_wide_as_its_games_allow():
    few = ends([[[0, 2], [0, 0]]] * 10)
    many = ends([[[0, 2], [0, 0]]] * 1000)
    assert few[1] - few[0] > 2.0
    assert many[0] > few[0] + 3.0  # more games, a higher lower end


def test_a_seed_gives_the_same_interval():
    points = np.array([[[0, 2], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [2, 0]]] * 5, dtype=float)
    assert np.array_equal(
        bootstrap_ratings(points, resamples=20), bootstrap_ratings(points, resamples=20)
    )
    other = bootstrap_ratings(points, resamples=20, seed=1)
    assert not np.array_equal(bootstrap_ratings(points, resamples=20), other)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "deals", "spread"), [(3, 60, 0.5), (5, 40, 1.0)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(count, deals, spread):
    chance = np.random.default_rng(0)
    covered = []
    for _ in range(150):
        truth = chance.normal(size=count) * spread
        likely = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
        points = np.zeros((deals, count, count))
        for i in range(count):
            for j in range(i):
                # half of the deals decide both games
                decided = chance.random(deals) < 0.5
                both = 2 * chance.binomial(1, likely[i, j], size=deals)
                points[:, i, j] = np.where(decided, both, chance.binomial(2, likely[i, j], deals))
                points[:, j, i] = 2 - points[:, i, j]
        low, high = ends(points, resamples=300)
        covered.append(low <= truth[0] - truth[1] <= high)
    assert 0.88 <= np.mean(covered) <= 0.99


def test_openskill_stands_beside_where_it_is_installed(monkeypatch):
    """Two new players: the loser of a game has as much less than 25 as the winner has more, a draw moves no mean,
    and a game makes both more certain."""
    games = [(0, 1, 1.0), (2, 3, 0.5)]
    monkeypatch.setattr(weng_lin, "find_spec", lambda name: None)
    assert weng_lin.openskill_ratings(4, games) is None
    monkeypatch.undo()
    pytest.importorskip("openskill")
    found = weng_lin.openskill_ratings(4, games)
    (winner, _), (loser, _), (one, spread), (other, _) = found
    assert winner > 27
    assert winner + loser == pytest.approx(50)
    assert one == other == 25
    assert spread < 25 / 3
