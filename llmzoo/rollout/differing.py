"""Whether the answers of a group differ in what they earn: where they do not, none is preferred."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy
from llmzoo.records import Group
from llmzoo.rollout.lines import Line
from llmzoo.rollout.scheduler import run


def negligible(value: float, returns: Sequence[float]) -> bool:
    """Whether ``value`` is no more than rounding leaves beside returns of this size."""
    return abs(value) <= 1e-6 * max(1.0, *map(abs, returns))


def differs(group: Group) -> bool:
    """Whether the returns of a group differ by more than rounding."""
    return not negligible(max(group.returns) - min(group.returns), group.returns)


def group_counts(
    env_fn: Callable[[], AECEnv],
    policy: Policy,
    tree: Callable[..., Line],
    seed: int,
    *,
    width: int = 4,
    **options: Any,
) -> Mapping[str, tuple[int, int]]:
    """How many groups of each agent differ in one episode's tree, and how many it has.

    ``policy`` plays all seats, each as if it learned; ``tree`` is :func:`agent_turn_tree` or
    :func:`joint_tree`, ``options`` are its own.
    """
    env = env_fn()
    env.reset(seed=seed)
    agents = env.possible_agents
    line = tree(env, seed, width=width, trained=agents, **options)
    (batch,) = run([line], dict.fromkeys(agents, policy))
    groups = {agent: [g for g in batch.groups if g.agent == agent] for agent in agents}
    return {agent: (sum(map(differs, mine)), len(mine)) for agent, mine in groups.items()}
