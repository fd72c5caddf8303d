"""The result of a league: its players and pairs, parsing and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import Any, TypeVar

from llmzoo.errors import CheckpointError

FloatPair = tuple[float, float]  # the limits of an interval, or two related numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerStanding:
    """A player's results against all others.

    ``rating``: the mean of :func:`llmzoo.evaluation.ratings.rate_players`. ``score``: the share of points, with half
    a point for a draw; ``by_position`` likewise, for each side. ``mean_return``: undiscounted, of the agents of its
    side. ``errors``: the share of actions that
    the rules refused. All intervals are 95%: that of the rating from openskill's standard deviation, the others with
    distinct deals as units.
    """

    name: str
    run: str | None
    iteration: int | None
    rating: float
    rating_ci95: FloatPair
    won: int
    drawn: int
    lost: int
    score: float
    score_ci95: FloatPair
    by_position: Mapping[str, float]
    mean_return: float
    return_ci95: FloatPair
    errors: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The games of a pair in both orders; ``score`` is the share of points of ``first``."""

    first: str
    second: str
    won: int
    drawn: int
    lost: int
    score: float
    score_ci95: FloatPair
    mean_return: FloatPair  # of the first and of the second


@dataclass(frozen=True, slots=True, kw_only=True)
class League:
    """The result of a league. ``deals``: the number of deals. Every pair played each of them twice."""

    env: str
    split: str
    seed: int
    deals: int
    distinct_deals: int
    players: tuple[PlayerStanding, ...]  # in the order in which they were named
    matches: tuple[Match, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def ranking(self) -> list[PlayerStanding]:
        """The players, the strongest first."""
        return sorted(self.players, key=lambda player: -player.rating)

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> League:
        """Raises :class:`CheckpointError` for anything but what :meth:`to_dict` gave."""
        try:
            players = tuple(_parse_record(PlayerStanding, one) for one in row["players"])
            matches = tuple(_parse_record(Match, one) for one in row["matches"])
            parts = {"players": players, "matches": matches, "notes": tuple(map(str, row["notes"]))}
            names = [player.name for player in players]
            if {(m.first, m.second) for m in matches} != {*combinations(names, 2)}:
                raise ValueError("some pairs have not played")
            return _parse_record(League, {**row, **parts}, known=parts)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"this is not the result of a league: {error!r:.200}") from error


Record = TypeVar("Record", PlayerStanding, Match, League)


def _parse_record(cls: type[Record], row: Mapping[str, Any], known: Collection[str] = ()) -> Record:
    """A record from its JSON form. ``known``: fields whose values in ``row`` are parsed already."""
    if unknown := row.keys() - {field.name for field in fields(cls)}:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return cls(
        **{
            field.name: row[field.name]
            if field.name in known
            else _PARSERS[str(field.type)](row[field.name])
            for field in fields(cls)
        }
    )


def _parse_number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _parse_pair(value: Any) -> FloatPair:
    low, high = map(_parse_number, value)
    return low, high


# parsers by the type of a field
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": lambda value: int(_parse_number(value)),
    "float": _parse_number,
    "FloatPair": _parse_pair,
    "str | None": lambda value: value if value is None else str(value),
    "int | None": lambda value: value if value is None else int(_parse_number(value)),
    "Mapping[str, float]": lambda value: {str(a): _parse_number(x) for a, x in value.items()},
}


_COLUMNS = ("", "rating [95%]", "score", "won", "drawn", "lost", "mean return [95%]", "errors")


def table_rows(league: League) -> list[list[str]]:
    """The names of the columns, and a row for each player, the strongest first."""
    rows = [list(_COLUMNS)]
    for player in league.ranking():
        low, high = player.rating_ci95
        least, most = player.return_ci95
        rows.append(
            [
                player.name,
                f"{player.rating:.1f} [{low:.1f}, {high:.1f}]",
                f"{player.score:.1%}",
                *map(str, (player.won, player.drawn, player.lost)),
                f"{player.mean_return:.3f} [{least:.3f}, {most:.3f}]",
                f"{player.errors:.1%}",
            ]
        )
    return rows


def to_markdown(league: League) -> str:
    """The standings as a Markdown table."""
    head, *rows = table_rows(league)
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    caption = (
        f"{league.env}, {league.split} split, seed {league.seed}: {league.deals} deals, each played twice by every pair, "
        "with sides exchanged. Ratings are openskill's, which start at 25. Intervals are 95%: of ratings from "
        "openskill's standard deviation, of returns by distinct deals."
    )
    return "\n".join([caption, "", *lines, "", *(f"Note: {note}.\n" for note in league.notes)])
