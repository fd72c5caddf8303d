"""The games of a league, by side, player and deal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from llmzoo.envs.sides import Side, score_side
from llmzoo.errors import CheckpointError
from llmzoo.evaluation.standings import FloatPair
from llmzoo.evaluation.statistics import Z95, clustered_wilson_interval, mean_interval
from llmzoo.records import Episode

_DIGITS = 6  # of returns and shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Games:
    """The games of two players in one order, one for each deal.

    ``ids``: the task id of each deal; deals with the same id are the same. The others are lists for both sides, that
    of the first player first. ``points``: 1 for a win, 0.5 for a draw, or 0. ``returns``: undiscounted, the mean of the
    side's agents. ``answers``: the number of actions. ``errors``: how many of these the rules refused.
    """

    ids: tuple[str, ...]
    points: tuple[tuple[float, ...], ...]
    returns: tuple[tuple[float, ...], ...]
    answers: tuple[int, ...]
    errors: tuple[int, ...]

    @staticmethod
    def from_episodes(episodes: Sequence[Episode], sides: Sequence[Side]) -> Games:
        decisions = [
            [d for e in episodes for d in e.decisions if d.agent in side] for side in sides
        ]
        # rounded, so that returns that differ by a rounding error are a draw
        results = [
            ({a: round(x, _DIGITS) for a, x in e.totals.items()}, e.info.get("outcomes", {}))
            for e in episodes
        ]
        return Games(
            ids=tuple(str(episode.info.get("task_id", episode.seed)) for episode in episodes),
            points=tuple(
                tuple(score_side(side, sides, *result) for result in results) for side in sides
            ),
            returns=tuple(
                tuple(round(fmean(totals[a] for a in side), _DIGITS) for totals, _ in results)
                for side in sides
            ),
            answers=tuple(map(len, decisions)),
            errors=tuple(sum(bool(d.info.get("error")) for d in own) for own in decisions),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> Games:
        """Raises :class:`CheckpointError` for anything but what :meth:`to_dict` gave."""
        try:
            return Games(
                ids=tuple(map(str, row["ids"])),
                points=tuple(tuple(map(float, xs)) for xs in row["points"]),
                returns=tuple(tuple(map(float, xs)) for xs in row["returns"]),
                answers=tuple(map(int, row["answers"])),
                errors=tuple(map(int, row["errors"])),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise CheckpointError(f"games of a league cannot be read: {error!r:.200}") from error


class GameTable:
    """The games of a league by player and deal."""

    def __init__(self, count: int, sides: Sequence[Side], results: Mapping[tuple[int, int], Games]):
        self.results, self.sides, self.count = results, sides, count
        ids = next(iter(results.values())).ids
        self.deals = len(ids)
        numbers = {id: number for number, id in enumerate(dict.fromkeys(ids))}
        self.deal_numbers = [numbers[id] for id in ids]
        self.distinct_deals = len(numbers)

    def iter_games(self) -> Iterator[tuple[int, int, float]]:
        """All games, deal by deal: both players, and the points of the first one."""
        for deal in range(self.deals):
            yield from ((i, j, games.points[0][deal]) for (i, j), games in self.results.items())

    def player_results(self, i: int) -> dict[str, Any]:
        """The score, returns and errors of player i over all of its games."""
        others = [j for j in range(self.count) if j != i]
        games_by_side = [(self.results[i, j], 0) for j in others] + [
            (self.results[j, i], 1) for j in others
        ]
        points_by_side = [
            [x for games, number in games_by_side if number == s for x in games.points[s]]
            for s in (0, 1)
        ]
        returns = self._cluster([games.returns[s] for games, s in games_by_side])
        answers = sum(games.answers[s] for games, s in games_by_side)
        wrong = sum(games.errors[s] for games, s in games_by_side)
        mean = sum(map(sum, returns)) / sum(map(len, returns))
        return {
            **self._score_summary([games.points[s] for games, s in games_by_side]),
            "by_position": {
                ", ".join(side): round(sum(xs) / len(xs), _DIGITS)
                for side, xs in zip(self.sides, points_by_side, strict=True)
            },
            "mean_return": round(mean, _DIGITS),
            "return_ci95": _round_pair(mean_interval(returns) or (mean, mean)),
            "errors": round(wrong / max(1, answers), _DIGITS),
        }

    def pair_results(self, i: int, j: int) -> dict[str, Any]:
        """The score of player i against player j, and the mean return of both."""
        both = (self.results[i, j], self.results[j, i])
        mean_return_i, mean_return_j = (
            (sum(both[0].returns[s]) + sum(both[1].returns[1 - s])) / (2 * self.deals)
            for s in (0, 1)
        )
        score = self._score_summary([both[0].points[0], both[1].points[1]])
        return {**score, "mean_return": _round_pair((mean_return_i, mean_return_j))}

    def _score_summary(self, series: Sequence[Sequence[float]]) -> dict[str, Any]:
        """Games won, drawn and lost, and the score, from one or more sequences of points by deal."""
        points = [point for one in series for point in one]
        # a game counts as two halves, so that a draw is a success and a failure
        halves = [[half < 2 * p for p in ps for half in (0, 1)] for ps in self._cluster(series)]
        return {
            "won": points.count(1.0),
            "drawn": points.count(0.5),
            "lost": points.count(0.0),
            "score": round(sum(points) / len(points), _DIGITS),
            "score_ci95": _round_pair(clustered_wilson_interval(halves, Z95)),
        }

    def _cluster(self, series: Sequence[Sequence[float]]) -> list[list[float]]:
        """The values of each distinct deal."""
        clusters: list[list[float]] = [[] for _ in range(self.distinct_deals)]
        for values in series:
            for deal, value in zip(self.deal_numbers, values, strict=True):
                clusters[deal].append(value)
        return clusters


def _round_pair(ends: FloatPair) -> FloatPair:
    return round(ends[0], _DIGITS), round(ends[1], _DIGITS)
