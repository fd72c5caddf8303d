"""Scripted players. Each returns the share that it asks for, or None to accept what it is offered."""

from __future__ import annotations

import random
from typing import NamedTuple

from llmzoo.envs.duels.negotiation.scenarios import Scenario, Share

FIRST, LAST = (
    0.9,
    0.4,
)  # the share of everything that a noisy expert demands at first, and in the end


class NegotiationView(NamedTuple):
    """``offered``: what the player would get by accepting. ``left``: its answers, this one included."""

    scenario: Scenario
    player: int
    offered: Share | None
    left: int
    of: int


def expert(view: NegotiationView) -> Share | None:
    """The division with the largest product of worths; knows what things are worth to both."""
    scenario, player = view.scenario, view.player
    fair = scenario.fair_division() if player == 0 else scenario.rest(scenario.fair_division())
    if view.offered is not None:
        worth = scenario.worth(player, view.offered)
        if worth >= scenario.worth(player, fair) or (view.left == 1 and worth > 0):
            return None
    return fair


def noisy_expert(view: NegotiationView, rng: random.Random) -> Share | None:
    """Demands less with every answer, and knows its own worths only."""
    scenario, player = view.scenario, view.player
    passed = (view.of - view.left) / max(1, view.of - 1)
    least = scenario.total * (FIRST + (LAST - FIRST) * passed)
    if view.offered is not None and scenario.worth(player, view.offered) >= least:
        return None
    wanted = [share for share in scenario.shares() if scenario.worth(player, share) >= least]
    modest = min(map(sum, wanted))
    return rng.choice([share for share in wanted if sum(share) <= modest + 1])
