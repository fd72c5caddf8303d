"""Who wins if everybody plays at random: exact, by dynamic programming."""

from __future__ import annotations

from collections import Counter
from functools import cache

NIGHT, TALK, VOTE = "night", "talk", "vote"
MAFIA, VILLAGE = "mafia", "village"


def find_winner(mafia: int, others: int) -> str | None:
    """The side that has won with so many players of each alive; None while the game goes on."""
    if mafia == 0:
        return VILLAGE
    return MAFIA if mafia >= others else None


@cache
def removal_probability(players: int) -> float:
    """The probability that a vote removes somebody, if each player votes at random.

    The share of the ``players**players`` ways to vote, for another player or for nobody, in which one player has
    more votes than every other one and than nobody.
    """
    ways = Counter(
        {(0,) * (players + 1): 1}
    )  # how many ways lead to these votes; the last: for nobody
    for voter in range(players):
        after: Counter[tuple[int, ...]] = Counter()
        for counts, number in ways.items():
            for choice in range(players + 1):
                if choice != voter:
                    after[(*counts[:choice], counts[choice] + 1, *counts[choice + 1 :])] += number
        ways = after
    decided = sum(
        number
        for counts, number in ways.items()
        if counts.count(max(counts)) == 1 and counts[-1] < max(counts)
    )
    return decided / players**players


@cache
def village_win_probability(mafia: int, others: int, phase: str) -> float:
    """The probability that the village wins under random play.

    Let p_N(m, v) be the probability before a night and p_D(m, v) before a vote, with m mafia and v others:

    * p_N(m, v) = p_D(m, v - 1), for the night kills one of the others;
    * p_D(m, v) = r m/n p_N(m - 1, v) + r v/n p_N(m, v - 1) + (1 - r) p_N(m, v), where n = m + v and r is
      :func:`removal_probability`; all players are equally likely to be removed;
    * p = 1 without mafia, and 0 if the mafia is at least as many as the others.
    """
    winner = find_winner(mafia, others)
    if winner is not None:
        return float(winner == VILLAGE)
    if phase == NIGHT:
        return village_win_probability(mafia, others - 1, VOTE)
    players = mafia + others
    removed = removal_probability(players)
    return (
        removed * mafia / players * village_win_probability(mafia - 1, others, NIGHT)
        + removed * others / players * village_win_probability(mafia, others - 1, NIGHT)
        + (1 - removed) * village_win_probability(mafia, others, NIGHT)
    )
