"""The games of a league, by position, player and deal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from llmzoo.errors import CheckpointError
from llmzoo.evaluation.standings import FloatPair
from llmzoo.evaluation.statistics import Z95, clustered_wilson_interval, mean_interval
from llmzoo.records import Episode

_DIGITS = 6  # of returns and shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Games:
    """The games of two players in one order, one for each deal.

    ``ids``: the task id of each deal; deals with the same id are the same. ``returns``: by agent,
    undiscounted. ``answers``: the number of actions by agent. ``errors``: how many of these the rules refused.
    """

    ids: tuple[str, ...]
    returns: Mapping[str, tuple[float, ...]]
    answers: Mapping[str, int]
    errors: Mapping[str, int]

    @staticmethod
    def from_episodes(episodes: Sequence[Episode]) -> Games:
        agents = tuple(episodes[0].totals)
        decisions = [decision for episode in episodes for decision in episode.decisions]
        return Games(
            ids=tuple(str(episode.info.get("task_id", episode.seed)) for episode in episodes),
            returns={a: tuple(round(e.totals[a], _DIGITS) for e in episodes) for a in agents},
            answers={a: sum(d.agent == a for d in decisions) for a in agents},
            errors={
                a: sum(d.agent == a and bool(d.info.get("error")) for d in decisions)
                for a in agents
            },
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> Games:
        """Raises :class:`CheckpointError` for anything but what :meth:`to_dict` gave."""
        try:
            returns = {str(a): tuple(map(float, xs)) for a, xs in row["returns"].items()}
            counts = [{a: int(row[name][a]) for a in returns} for name in ("answers", "errors")]
            games = Games(
                ids=tuple(map(str, row["ids"])),
                returns=returns,
                answers=counts[0],
                errors=counts[1],
            )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"games of a league cannot be read: {error!r:.200}") from error
        return games

    def points(self, agent: str) -> list[float]:
        """The points of ``agent``'s player in each game: 1 for a win, 0.5 for a draw, or 0."""
        (opponent,) = [name for name in self.returns if name != agent]
        pairs = zip(self.returns[agent], self.returns[opponent], strict=True)
        return [0.5 + 0.5 * ((own > theirs) - (own < theirs)) for own, theirs in pairs]


class GameTable:
    """The games of a league by player and deal."""

    def __init__(self, count: int, agents: Sequence[str], results: Mapping[tuple[int, int], Games]):
        self.results, self.agents, self.count = results, agents, count
        ids = next(iter(results.values())).ids
        self.deals = len(ids)
        numbers = {id: number for number, id in enumerate(dict.fromkeys(ids))}
        self.deal_numbers = [numbers[id] for id in ids]
        self.distinct_deals = len(numbers)

    def iter_games(self) -> Iterator[tuple[int, int, float]]:
        """All games, deal by deal: both players, and the points of the first one."""
        points = {pair: games.points(self.agents[0]) for pair, games in self.results.items()}
        for deal in range(self.deals):
            yield from ((i, j, points[i, j][deal]) for i, j in points)

    def player_results(self, i: int) -> dict[str, Any]:
        """The score, returns and errors of player i over all of its games."""
        others = [j for j in range(self.count) if j != i]
        games_by_position = [(self.results[i, j], 0) for j in others] + [
            (self.results[j, i], 1) for j in others
        ]
        points_by_position = [
            [
                x
                for games, position in games_by_position
                if position == s
                for x in games.points(self.agents[s])
            ]
            for s in (0, 1)
        ]
        returns = self._cluster(
            [games.returns[self.agents[position]] for games, position in games_by_position]
        )
        answers = sum(games.answers[self.agents[position]] for games, position in games_by_position)
        wrong = sum(games.errors[self.agents[position]] for games, position in games_by_position)
        mean = sum(map(sum, returns)) / sum(map(len, returns))
        return {
            **self._score_summary(
                [games.points(self.agents[position]) for games, position in games_by_position]
            ),
            "by_position": {
                agent: round(sum(xs) / len(xs), _DIGITS)
                for agent, xs in zip(self.agents, points_by_position, strict=True)
            },
            "mean_return": round(mean, _DIGITS),
            "return_ci95": _round_pair(mean_interval(returns) or (mean, mean)),
            "errors": round(wrong / max(1, answers), _DIGITS),
        }

    def pair_results(self, i: int, j: int) -> dict[str, Any]:
        """The score of player i against player j, and the mean return of both."""
        ordered = ((self.results[i, j], self.agents), (self.results[j, i], self.agents[::-1]))
        mean_return_i, mean_return_j = (
            sum(sum(games.returns[agents[player]]) for games, agents in ordered) / (2 * self.deals)
            for player in (0, 1)
        )
        score = self._score_summary([games.points(agents[0]) for games, agents in ordered])
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
