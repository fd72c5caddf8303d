"""The result of a league: players, pairs, and how it is read back and shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from typing import Any, TypeVar

from llmzoo.errors import CheckpointError

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A player's results against all others.

    ``rating``: on Elo's scale, where the mean of the players is 0. ``score``: the share of points, a draw being half
    a point; ``by_position`` likewise. ``mean_return``: undiscounted. ``errors``: the share of answers that the rules
    refused. All intervals are 95%, with distinct deals as units. ``openskill``: mean and standard deviation of
    :func:`llmzoo.evaluation.weng_lin.openskill_ratings`.
    """

    name: str
    run: str | None
    iteration: int | None
    rating: float
    rating_ci95: Interval
    won: int
    drawn: int
    lost: int
    score: float
    score_ci95: Interval
    by_position: Mapping[str, float]
    mean_return: float
    return_ci95: Interval
    errors: float
    openskill: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The games of a pair in both orders; ``score`` is the share of points of ``first``."""

    first: str
    second: str
    won: int
    drawn: int
    lost: int
    score: float
    score_ci95: Interval
    mean_return: Interval  # of the first and of the second


@dataclass(frozen=True, slots=True, kw_only=True)
class League:
    """The result of a league. ``deals``: each was played twice by every pair."""

    env: str
    split: str
    seed: int
    deals: int
    distinct_deals: int
    players: tuple[Standing, ...]  # in the order in which they were named
    matches: tuple[Match, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def ranked(self) -> list[Standing]:
        """The players, the strongest first."""
        return sorted(self.players, key=lambda player: -player.rating)

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> League:
        """Raises :class:`CheckpointError` for anything but what :meth:`to_dict` gave."""
        try:
            players = tuple(_read(Standing, one) for one in row["players"])
            matches = tuple(_read(Match, one) for one in row["matches"])
            parts = {"players": players, "matches": matches, "notes": tuple(map(str, row["notes"]))}
            names = [player.name for player in players]
            if {(m.first, m.second) for m in matches} != {*combinations(names, 2)}:
                raise ValueError("not every pair has played")
            return _read(League, {**row, **parts}, known=parts)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"this is no result of a league: {error!r:.200}") from error


Record = TypeVar("Record", Standing, Match, League)


def _read(cls: type[Record], row: Mapping[str, Any], known: Collection[str] = ()) -> Record:
    """A record from its JSON form; ``known``: fields that have their value already."""
    return cls(
        **{
            field.name: row[field.name]
            if field.name in known
            else _READ[str(field.type)](row[field.name])
            for field in fields(cls)
        }
    )


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _ends(value: Any) -> Interval:
    low, high = map(_number, value)
    return low, high


# by the type of a field
_READ: Mapping[str, Callable[[Any], Any]] = {
    "str": str,
    "int": lambda value: int(_number(value)),
    "float": _number,
    "Interval": _ends,
    "Interval | None": lambda value: value if value is None else _ends(value),
    "str | None": lambda value: value if value is None else str(value),
    "int | None": lambda value: value if value is None else int(_number(value)),
    "Mapping[str, float]": lambda value: {str(a): _number(x) for a, x in value.items()},
}


_COLUMNS = ("", "rating [95%]", "score", "won", "drawn", "lost", "mean return [95%]", "errors")


def rows_of(league: League) -> list[list[str]]:
    """The names of the columns, and a row for each player, the strongest first."""
    rows = [list(_COLUMNS)]
    for player in league.ranked():
        low, high = player.rating_ci95
        least, most = player.return_ci95
        rows.append(
            [
                player.name,
                f"{player.rating:+.0f} [{low:+.0f}, {high:+.0f}]",
                f"{player.score:.1%}",
                *map(str, (player.won, player.drawn, player.lost)),
                f"{player.mean_return:.3f} [{least:.3f}, {most:.3f}]",
                f"{player.errors:.1%}",
            ]
        )
    skills = [player.openskill for player in league.ranked()]
    beside = [f"{skill[0]:.1f} ± {skill[1]:.1f}" for skill in skills if skill is not None]
    if len(beside) == len(skills):
        return [[*row, told] for row, told in zip(rows, ["openskill", *beside], strict=True)]
    return rows


def table(league: League) -> str:
    """The standings as a Markdown table."""
    head, *rows = rows_of(league)
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    told = (
        f"{league.env}, {league.split} split, seed {league.seed}: {league.deals} deals, each played twice by every pair, "
        "with sides exchanged. Ratings are Bradley-Terry's on Elo's scale (400 points: odds of ten to one), the mean "
        "of the players is 0; intervals are 95%, by distinct deals."
    )
    return "\n".join([told, "", *lines, "", *(f"Note: {note}.\n" for note in league.notes)])
