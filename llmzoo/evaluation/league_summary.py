"""Summarises the games of a league: ratings, results and caveats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llmzoo.envs.sides import Side
from llmzoo.evaluation.entrants import Entrant
from llmzoo.evaluation.evaluate import FEW_TASKS
from llmzoo.evaluation.league_games import Games, GameTable
from llmzoo.evaluation.ratings import rate_players
from llmzoo.evaluation.standings import League, Match, PlayerStanding
from llmzoo.evaluation.statistics import Z95


def summarize_league(
    entrants: Sequence[Entrant],
    sides: Sequence[Side],
    results: Mapping[tuple[int, int], Games],
    **settings: Any,
) -> League:
    """The league from the games of each ordered pair: ``results[i, j]`` has player i on the first side."""
    table = GameTable(len(entrants), sides, results)
    ratings = rate_players(len(entrants), table.iter_games())
    standings = tuple(
        PlayerStanding(
            name=entrant.name,
            run=entrant.run,
            iteration=entrant.iteration,
            rating=round(mean, 2),
            rating_ci95=(round(mean - Z95 * deviation, 2), round(mean + Z95 * deviation, 2)),
            **table.player_results(i),
        )
        for i, (entrant, (mean, deviation)) in enumerate(zip(entrants, ratings, strict=True))
    )
    matches = tuple(
        Match(first=entrants[i].name, second=entrants[j].name, **table.pair_results(i, j))
        for i in range(len(entrants))
        for j in range(i + 1, len(entrants))
    )
    return League(
        deals=table.deals,
        distinct_deals=table.distinct_deals,
        players=standings,
        matches=matches,
        notes=tuple(_notes(standings, table.distinct_deals)),
        **settings,
    )


def _notes(players: Sequence[PlayerStanding], deals: int) -> Iterator[str]:
    """Caveats for reading the result of a league."""
    if all(player.won + player.lost == 0 for player in players):
        yield "every game was a draw: if both sides have the same rewards, compare the mean returns"
    if deals < FEW_TASKS:
        yield f"{deals} distinct deals are few: intervals are wide and inaccurate"
