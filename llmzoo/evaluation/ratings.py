"""Ratings of players from the games that they played against each other.

In the model of Bradley and Terry (1952) player i beats player j with probability
1 / (1 + exp(r_j - r_i)). Draws count as half a win for each (as in D. R. Hunter, "MM algorithms for generalized
Bradley-Terry models", 2004, without a parameter for ties). Ratings are given on Elo's scale, where 400 points are
odds of ten to one.

These are the ratings of ``llmzoo eval league`` (:mod:`.league_summary`); those of :mod:`.weng_lin` are a check.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ELO = 400 / math.log(10)  # points for a difference of 1 in r
PRIOR = 1.0  # assumed wins, and losses, of each player against the average player
RESAMPLES = 1000
_BATCH_SIZE = 100  # resamples computed at once
_MAX_ITERATIONS = 200  # of Newton's method; a handful is enough
# limit on a step: the difference between two ratings changes by less than log 2, so the second derivatives
# change by less than a factor of 2, and the likelihood grows in every step
_MAX_STEP_SIZE = 1 / 3
_TOLERANCE = 1e-10


def bradley_terry(
    wins: Floats, *, won: Floats | float = PRIOR, lost: Floats | float = PRIOR
) -> Floats:
    """The maximum-likelihood ratings r [..., n], from ``wins`` [..., n, n]: how often i beat j, with draws as half.

    ``won``, ``lost`` [..., n], above 0: assumed games that each player won and lost against a virtual average
    player. With them the rating of a player who won or lost everything is finite. The mean of the ratings is 0.
    """
    ratings = np.zeros(wins.shape[:-1])
    for _ in range(_MAX_ITERATIONS):
        slope, curvature = _derivatives(ratings, wins, won, lost)
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, keepdims=True)
        ratings = ratings + step * np.minimum(1.0, _MAX_STEP_SIZE / np.maximum(longest, _TOLERANCE))
        if longest.max() < _TOLERANCE:
            break
    return ratings - ratings.mean(axis=-1, keepdims=True)


def bootstrap_ratings(points: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Ratings [resamples, n] with random weights of the deals: the Bayesian bootstrap (D. B. Rubin, 1981).

    ``points`` [deals, n, n]: the points of i against j in the games of a deal, with draws as half. A deal has
    the same weight in the games of all pairs, because the luck of a deal is shared by all who played it. The
    games of the prior have weights too. So the interval of a player who won everything is as wide as the number
    of games implies, whereas resampling the observed games would find no spread.
    """
    rng = np.random.default_rng(seed)
    deals, count, _ = points.shape
    found = []
    for start in range(0, resamples, _BATCH_SIZE):
        some = min(_BATCH_SIZE, resamples - start)
        wins = (rng.exponential(size=(some, deals)) @ points.reshape(deals, -1)).reshape(
            some, count, count
        )
        won, lost = PRIOR * rng.exponential(size=(2, some, count))
        found.append(bradley_terry(wins, won=won, lost=lost))
    return np.concatenate(found)


def unbeaten_groups(wins: Floats) -> list[list[int]]:
    """Players in groups, stronger ones first, such that nobody in a later group won or drew against an earlier one.

    If there is a single group, each player has beaten each other one, or somebody who has, and so on. Then
    ratings do not need the prior (the condition of L. R. Ford, 1957).
    """
    count = len(wins)
    reaches = (wins > 0) | np.eye(count, dtype=bool)
    for middle in range(count):
        reaches |= reaches[:, [middle]] & reaches[middle]
    groups = {tuple(np.flatnonzero(reaches[i] & reaches[:, i])) for i in range(count)}
    strongest_first = sorted(groups, key=lambda group: (-reaches[group[0]].sum(), group))
    return [[int(i) for i in group] for group in strongest_first]


def _derivatives(
    ratings: Floats, wins: Floats, won: Floats | float, lost: Floats | float
) -> tuple[Floats, Floats]:
    """The gradient of the log-likelihood, and minus its second derivatives."""
    games = wins + np.swapaxes(wins, -1, -2)
    win_probability = _sigmoid(ratings[..., :, None] - ratings[..., None, :])
    average = _sigmoid(ratings)
    slope = (wins - games * win_probability).sum(axis=-1) + won - (won + lost) * average
    information = games * win_probability * np.swapaxes(win_probability, -1, -2)
    own = information.sum(axis=-1) + (won + lost) * average * (1 - average)
    return slope, own[..., None] * np.eye(ratings.shape[-1]) - information


def _sigmoid(x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -x))
