"""RAE: role-conditioned advantages for self-play (SPIRAL, arXiv 2506.24119).

The option ``role_baseline`` of group learners replaces their own credit with this one. By default each agent is a role,
because the first player of a game may well earn more than the second. The option ``roles`` gives agents of one kind, such
as ``worker_*``, one role, also if they join and leave during an episode.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.names import check_agent_keys, matches_an_agent, value_for_agent
from llmzoo.records import Group


def role_advantages(returns: Tensor, mean: float, decay: float) -> tuple[Tensor, float]:
    """A_m = R_m - the role's running mean, and the updated mean. [M] -> [M], a number.

    Each role of a game has its own running mean, which starts at 0. ``returns``: at least one, all of
    one role and one batch. Their baseline is the mean before them, as in the authors' code, so no
    baseline depends on the completion that it is used for. (The paper updates the mean first. For one
    return this only scales the advantage by the decay: R - (decay b + (1 - decay) R) = decay (R - b).)
    Then the mean is updated with the batch mean, which counts as M values: the old mean keeps the weight
    decay^M, as in M single updates, but the result does not depend on their order.
    """
    assert len(returns) > 0
    kept = decay ** len(returns)
    return returns - mean, kept * mean + (1 - kept) * returns.mean().item()


def check_roles(patterns: Sequence[str], agents: Collection[str]) -> None:
    """Raise :class:`llmzoo.errors.UnknownNameError` for a pattern that matches no agent, and :class:`ConfigError` for
    an agent that matches several. An agent's own name comes before patterns."""
    check_agent_keys(patterns, agents)
    for agent in agents:
        found = [pattern for pattern in patterns if matches_an_agent(pattern, [agent])]
        if len(found) > 1 and agent not in found:
            raise ConfigError(
                f"{agent} has several roles: {', '.join(found)}. Leave one, or name {agent} among the roles"
            )


def assign_roles(patterns: Sequence[str], agents: Sequence[str]) -> dict[str, str]:
    """The role of each agent, which is called after its first agent.

    Agents that match the same pattern share a role. Every other agent is a role of its own.
    """
    by_pattern = dict(zip(patterns, patterns, strict=True))
    first: dict[str, str] = {}
    return {a: first.setdefault(value_for_agent(by_pattern, a, a), a) for a in agents}


class RoleMeans:
    """The running mean of each role's returns: the state of the credit rule. ``roles``: the role of each agent."""

    def __init__(self, roles: Mapping[str, str]):
        self.roles = dict(roles)
        self.means: dict[str, float] = {}

    def compute_advantages(self, groups: Sequence[Group], decay: float) -> list[ScoredGroup]:
        """The groups with their advantages, role by role. Updates the means afterwards."""
        scored: list[ScoredGroup] = []
        for role in dict.fromkeys(self.roles[group.agent] for group in groups):
            role_groups = [group for group in groups if self.roles[group.agent] == role]
            returns = torch.tensor([value for group in role_groups for value in group.returns])
            mean = self.means.get(role, 0.0)
            advantages, self.means[role] = role_advantages(returns, mean, decay)
            scored += map(
                ScoredGroup, role_groups, advantages.split([len(g.returns) for g in role_groups])
            )
        return scored

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.means))

    def load(self, path: Path) -> None:
        """Restore the means of these roles; the file may have those of other policies too."""
        saved = json.loads(path.read_text())
        self.means = {role: mean for role, mean in saved.items() if role in self.roles.values()}
