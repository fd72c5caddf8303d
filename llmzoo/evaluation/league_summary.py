"""Summarises the games of a league: ratings, results and caveats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from llmzoo.evaluation.entrants import Entrant
from llmzoo.evaluation.evaluate import FEW_TASKS
from llmzoo.evaluation.league_games import Games, GameTable
from llmzoo.evaluation.ratings import ELO, Floats, bootstrap_ratings, bradley_terry, unbeaten_groups
from llmzoo.evaluation.standings import League, Match, PlayerStanding
from llmzoo.evaluation.weng_lin import openskill_ratings


def summarize_league(
    entrants: Sequence[Entrant],
    agents: Sequence[str],
    results: Mapping[tuple[int, int], Games],
    **settings: Any,
) -> League:
    """The league from the games of each ordered pair: ``results[i, j]`` has player i as the first agent."""
    table = GameTable(len(entrants), agents, results)
    wins = table.points.sum(axis=0)
    ratings = ELO * bradley_terry(wins)
    ends = np.quantile(ELO * bootstrap_ratings(table.points), [0.025, 0.975], axis=0)
    skills = openskill_ratings(len(entrants), table.iter_games())
    standings = tuple(
        PlayerStanding(
            name=entrant.name,
            run=entrant.run,
            iteration=entrant.iteration,
            rating=round(float(ratings[i]), 2),
            rating_ci95=(round(float(ends[0, i]), 2), round(float(ends[1, i]), 2)),
            openskill=None if skills is None else (round(skills[i][0], 2), round(skills[i][1], 2)),
            **table.player_results(i),
        )
        for i, entrant in enumerate(entrants)
    )
    matches = tuple(
        Match(first=entrants[i].name, second=entrants[j].name, **table.pair_results(i, j))
        for i in range(len(entrants))
        for j in range(i + 1, len(entrants))
    )
    return League(
        deals=table.deals,
        distinct_deals=len(table.points),
        players=standings,
        matches=matches,
        notes=tuple(_notes(standings, wins, len(table.points))),
        **settings,
    )


def _notes(players: Sequence[PlayerStanding], wins: Floats, deals: int) -> Iterator[str]:
    """Caveats for reading the result of a league."""
    if all(player.won + player.lost == 0 for player in players):
        yield "every game was a draw: if both agents have the same rewards, compare the mean returns"
    groups = unbeaten_groups(wins)
    if len(groups) > 1:
        names = [_join_names([players[i].name for i in group]) for group in groups]
        yield (
            f"the players fall into groups: {'; '.join(names)}. Nobody has won or drawn against an earlier group. "
            "The distance between groups depends only on the prior, one game won and one lost "
            "against an average player, and on the number of games"
        )
    if deals < FEW_TASKS:
        yield f"{deals} distinct deals are few: intervals are wide and inaccurate"


def _join_names(names: Sequence[str]) -> str:
    return (
        ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    )
