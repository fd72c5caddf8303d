"""Ratings by openskill (R. C. Weng and C.-J. Lin, 2011), as a check with another method if it is installed.

The ratings of ``llmzoo eval league`` are those of :mod:`.ratings`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

_RANKS: dict[float, list[float]] = {1.0: [0, 1], 0.5: [0, 0], 0.0: [1, 0]}


def openskill_ratings(
    count: int, games: Iterable[tuple[int, int, float]]
) -> list[tuple[float, float]] | None:
    """(mean, standard deviation) of each player's skill, which starts at 25 and 25/3; None without openskill.

    ``games``: (player, other player, points of the first), in the order in which they count. The model is
    openskill's Plackett-Luce with its defaults, which is Bradley-Terry's for two players.
    """
    if find_spec("openskill") is None:
        return None
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    skills = [model.rating() for _ in range(count)]
    for i, j, points in games:
        (skills[i],), (skills[j],) = model.rate([[skills[i]], [skills[j]]], ranks=_RANKS[points])
    return [(skill.mu, skill.sigma) for skill in skills]
