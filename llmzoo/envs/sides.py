"""The sides of an environment: the groups of agents that play against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from pettingzoo import AECEnv

from llmzoo.names import check_names

Side = tuple[str, ...]  # agents

_RANKS = {"lost": 0.0, "drawn": 1.0, "won": 2.0}


def list_sides(env: AECEnv) -> tuple[Side, ...]:
    """The agents of each side: those of ``metadata["sides"]``, and every other agent on its own.

    Raises :class:`llmzoo.errors.UnknownNameError` if a side names an agent that the environment does not have.
    """
    declared = [tuple(side) for side in env.metadata.get("sides", ())]
    members = [agent for side in declared for agent in side]
    check_names("agent of a side", members, env.possible_agents)
    return (*declared, *((agent,) for agent in env.possible_agents if agent not in members))


def score_side(
    side: Side,
    sides: Sequence[Side],
    totals: Mapping[str, float],
    outcomes: Mapping[str, str],
) -> float:
    """The points of one of the ``sides`` in a game: 1 for a win, 0.5 for a draw, 0 for a loss.

    ``totals``: the return of each agent. ``outcomes``: for each agent "won", "drawn" or "lost", also for those that
    have left; empty if the environment reports none.

    Between single agents the higher return wins, so that forfeits and penalties count. Returns say less about
    larger sides, because sides may differ in size and agents may leave early. There the outcomes decide, and without
    them the mean return of a side's agents. A game that every side has lost is a draw. Raises
    :class:`llmzoo.errors.UnknownNameError` for another word in ``outcomes``.
    """
    several = any(len(members) > 1 for members in sides)
    if several and all(members[0] in outcomes for members in sides):
        check_names("outcome", outcomes.values(), _RANKS)
        values = {members: _RANKS[outcomes[members[0]]] for members in sides}
    else:
        values = {members: fmean(totals[agent] for agent in members) for members in sides}
    own = values.pop(side)
    best = max(values.values())
    return 0.5 + 0.5 * ((own > best) - (own < best))
