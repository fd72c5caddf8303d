"""The best play of one agent that has the detective's knowledge and all votes of the village: exact.

The mafia kills each of the others with the same probability (:func:`llmzoo.envs.crowd.mafia.players.draw_victim`). No
evidence distinguishes players that were not checked, so a position is six numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from llmzoo.envs.crowd.mafia.game import DETECTIVE, NOBODY, MafiaState, role_of
from llmzoo.envs.crowd.mafia.odds import MAFIA, NIGHT, VILLAGE, find_winner


class Position(NamedTuple):
    """How many players of each kind are alive.

    hidden, unchecked: the mafia and the villagers that were not checked. found, cleared: those that were. detective:
    1 while it is alive. days: those that may still begin.
    """

    hidden: int
    unchecked: int
    found: int
    cleared: int
    detective: int
    days: int

    @property
    def winner(self) -> str | None:
        others = self.unchecked + self.cleared + self.detective
        return find_winner(self.hidden + self.found, others)

    def change(self, **changes: int) -> Position:
        """The position with so many more of each kind."""
        return self._replace(**{kind: getattr(self, kind) + by for kind, by in changes.items()})


def find_position(state: MafiaState, days: int) -> Position:
    """What the detective knows. ``days``: how many a game has."""
    checked = {agent for agent in state.checks if agent in state.alive}
    found = sum(role_of(agent) == MAFIA for agent in checked)
    detective = len(state.living(DETECTIVE))
    mafia, others = state.counts
    return Position(
        hidden=mafia - found,
        unchecked=others - (len(checked) - found) - detective,
        found=found,
        cleared=len(checked) - found,
        detective=detective,
        days=days - len(state.days),
    )


@cache
def night_win_probability(position: Position) -> float:
    """The probability that the village wins, before a night in which the detective checks an unchecked player."""
    if position.winner is not None:
        return float(position.winner == VILLAGE)
    if not position.days:
        return 0.0
    position = position.change(days=-1)
    if not position.detective or not position.hidden + position.unchecked:
        return _average_over_kills(position)
    checks = {
        position.change(hidden=-1, found=1): position.hidden,
        position.change(unchecked=-1, cleared=1): position.unchecked,
    }
    return _average(checks, _average_over_kills)


@cache
def vote_win_probability(position: Position) -> float:
    """The probability that the village wins, before a vote."""
    if position.winner is not None:
        return float(position.winner == VILLAGE)
    return max(removal_values(position).values())


def removal_values(position: Position) -> dict[str, float]:
    """The probability to win after the removal of a "found" mafia, of an "unchecked" player, and of nobody.

    To remove a player that is known to be good is never better than all of these.
    """
    values = {}
    if position.found:
        values["found"] = night_win_probability(position.change(found=-1))
    removals = {
        position.change(hidden=-1): position.hidden,
        position.change(unchecked=-1): position.unchecked,
    }
    if any(removals.values()):
        values["unchecked"] = _average(removals, night_win_probability)
    return {**values, NOBODY: night_win_probability(position)}


def choose_for_village(state: MafiaState, choices: list[str], days: int) -> str:
    """The best of the choices, by night or in a vote; the first of those that are equal."""
    unchecked = [a for a in choices if a not in (*state.checks, NOBODY) and role_of(a) != DETECTIVE]
    if state.phase == NIGHT:
        return next(iter(unchecked), choices[0])
    found = [a for a in choices if a in state.checks and role_of(a) == MAFIA]
    values = removal_values(find_position(state, days))
    best = max(values, key=lambda kind: round(values[kind], 9))
    return {"found": found, "unchecked": unchecked, NOBODY: [NOBODY]}[best][0]


def _average_over_kills(position: Position) -> float:
    kills = {
        position.change(unchecked=-1): position.unchecked,
        position.change(cleared=-1): position.cleared,
        position.change(detective=-1): position.detective,
    }
    return _average(kills, vote_win_probability)


def _average(cases: Mapping[Position, int], value: Callable[[Position], float]) -> float:
    """The mean of a value over positions that occur so often."""
    total = sum(number * value(position) for position, number in cases.items() if number)
    return total / sum(cases.values())
