"""RAE: role-conditioned advantages for self-play (SPIRAL, arXiv 2506.24119).

The option ``role_baseline`` of group learners puts this credit in the place of their own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

import torch
from torch import Tensor

from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.records import Group


def role_advantages(returns: Tensor, mean: float, decay: float) -> tuple[Tensor, float]:
    """A_m = R_m - the role's mean so far, and the mean after these returns. [M] -> [M], a number.

    Each role of a game has a running mean of its own, from 0, since the first player may well earn
    more than the second. ``returns`` are one role's of a batch, at least one. Their baseline is the
    mean from before them, as in the authors' code, so no baseline depends on the answer it judges.
    (The paper updates the mean first. For one return that only scales the advantage by the decay:
    R - (decay b + (1 - decay) R) = decay (R - b).) The batch's mean then counts as M values, so the
    old one keeps decay^M, as it would one by one, but in no order.
    """
    assert len(returns) > 0
    kept = decay ** len(returns)
    return returns - mean, kept * mean + (1 - kept) * returns.mean().item()


class RoleMeans:
    """The running mean of every role's returns: the state of the credit rule."""

    def __init__(self) -> None:
        self.means: dict[str, float] = {}

    def compute_advantages(self, groups: Sequence[Group], decay: float) -> list[ScoredGroup]:
        """The groups with their advantages, role by role; then the means move."""
        scored: list[ScoredGroup] = []
        for agent in dict.fromkeys(group.agent for group in groups):
            agent_groups = [group for group in groups if group.agent == agent]
            returns = torch.tensor([value for group in agent_groups for value in group.returns])
            mean = self.means.get(agent, 0.0)
            advantages, self.means[agent] = role_advantages(returns, mean, decay)
            scored += map(
                ScoredGroup, agent_groups, advantages.split([len(g.returns) for g in agent_groups])
            )
        return scored

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.means))

    def load(self, path: Path, agents: Collection[str]) -> None:
        """Restore the means of ``agents``."""
        saved = json.loads(path.read_text())
        self.means = {agent: mean for agent, mean in saved.items() if agent in agents}
