"""RAE: role-conditioned advantages for self-play (SPIRAL, arXiv 2506.24119).

The option ``role_baseline`` of group learners replaces their own credit with this one.
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
    """A_m = R_m - the role's running mean, and the updated mean. [M] -> [M], a number.

    Each role of a game has its own running mean, which starts at 0, because the first player may
    well earn more than the second. ``returns``: at least one, all of one role and one batch. Their
    baseline is the mean before them, as in the authors' code, so no baseline depends on the
    completion that it is used for. (The paper updates the mean first. For one return this only
    scales the advantage by the decay: R - (decay b + (1 - decay) R) = decay (R - b).) Then the mean
    is updated with the batch mean, which counts as M values: the old mean keeps the weight decay^M,
    as in M single updates, but the result does not depend on their order.
    """
    assert len(returns) > 0
    kept = decay ** len(returns)
    return returns - mean, kept * mean + (1 - kept) * returns.mean().item()


class RoleMeans:
    """The running mean of each role's returns: the state of the credit rule."""

    def __init__(self) -> None:
        self.means: dict[str, float] = {}

    def compute_advantages(self, groups: Sequence[Group], decay: float) -> list[ScoredGroup]:
        """The groups with their advantages, role by role. Updates the means afterwards."""
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
