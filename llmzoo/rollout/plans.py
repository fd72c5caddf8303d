"""Descriptions of rollouts as data: learners with equal plans can share a tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from pettingzoo import AECEnv

from llmzoo.rollout.scheduler import Rollout
from llmzoo.rollout.trees import joint_tree
from llmzoo.rollout.turn_trees import agent_turn_tree


class RolloutPlan(Protocol):
    """Plays an environment that was just reset."""

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        """The rollout; it returns a ``Batch``. ``trained``: the learning agents."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTree:
    """The options of :func:`llmzoo.rollout.joint_tree`."""

    group_size: int
    gamma: float = 1.0
    mode: Literal["align", "cross"] = "align"
    expand: int | None = 1
    with_greedy: bool = False
    redraws: int | Mapping[str, int] = 0

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return joint_tree(
            env,
            seed,
            group_size=self.group_size,
            trained=trained,
            mode=self.mode,
            gamma=self.gamma,
            expand=self.expand,
            with_greedy=self.with_greedy,
            redraws=self.redraws,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurnTree:
    """The options of :func:`llmzoo.rollout.agent_turn_tree`."""

    group_size: int
    select: Literal["greedy", "sample", "random"] = "greedy"
    team_reward_weight: float = 1.0
    continuations: int | None = None

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return agent_turn_tree(
            env,
            seed,
            group_size=self.group_size,
            trained=trained,
            select=self.select,
            team_weight=self.team_reward_weight,
            continuations=self.continuations,
        )
