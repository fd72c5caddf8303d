"""Ratings of players from the games that they played against each other, by openskill (the extra ``league``).

Source: R. C. Weng and C.-J. Lin, "A Bayesian Approximation Method for Online Ranking", JMLR 12, 2011.
"""

from __future__ import annotations

from collections.abc import Iterable

from llmzoo.errors import require_extra

_RANKS: dict[float, list[float]] = {1.0: [0, 1], 0.5: [0, 0], 0.0: [1, 0]}


def require_openskill() -> None:
    """Raise :class:`llmzoo.errors.MissingExtraError` if openskill is not installed."""
    with require_extra("the rating of a league", "league"):
        import openskill  # noqa: F401


def rate_players(count: int, games: Iterable[tuple[int, int, float]]) -> list[tuple[float, float]]:
    """The mean and standard deviation of each player's skill, which starts at 25 and 25/3.

    ``games``: (player, other player, points of the first: 1, 0.5 or 0), in the order in which they count. The
    model is openskill's for Bradley and Terry. Its ``tau`` is 0, because players of a league do not change. Its
    ``gamma`` is 1: every game narrows a skill by all that it tells. In simulated leagues with the default, which
    is for players who improve, errors of the means are 1.4 to 1.8 times as large. Games count as independent.
    """
    from openskill.models import BradleyTerryFull

    model = BradleyTerryFull(tau=0.0, gamma=lambda *_, **__: 1.0)
    skills = [model.rating() for _ in range(count)]
    for i, j, points in games:
        (skills[i],), (skills[j],) = model.rate([[skills[i]], [skills[j]]], ranks=_RANKS[points])
    return [(skill.mu, skill.sigma) for skill in skills]
