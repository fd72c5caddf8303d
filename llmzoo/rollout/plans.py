"""Rollout plans: which rollouts a learner trains on, such as trees or whole episodes.

Each learner has a ``plan``. Plans are dataclasses that can be compared, so learners with equal plans share a
tree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError
from llmzoo.fields import field_values
from llmzoo.policies.base import Policy
from llmzoo.records import Batch
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import Rollout
from llmzoo.rollout.trees import joint_tree
from llmzoo.rollout.turn_trees import agent_turn_tree


class RolloutPlan:
    """Base of all plans. Only a plan whose rollouts depend on earlier ones has a state to save."""

    __slots__ = ()

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        """A rollout of an environment that was just reset; it returns a ``Batch``. ``trained``: the agents
        that learn."""
        raise NotImplementedError

    def rollout_policies(self, agent_policies: Mapping[str, Policy]) -> Mapping[str, Policy]:
        """The policies that play each agent in rollouts: by default the agents' own."""
        return agent_policies

    def skip(self, seeds: Sequence[int]) -> None:
        """Skip the rollouts from ``seeds``: other processes play them."""

    def state_dict(self) -> dict[str, Any]:
        """The state that the next rollouts depend on, as JSON values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTree(RolloutPlan):
    """The options of :func:`llmzoo.rollout.joint_tree`."""

    group_size: int
    gamma: float = 1.0
    mode: Literal["align", "cross"] = "align"
    expand: int | None = 1
    with_greedy: bool = False
    counterfactuals: int | Mapping[str, int] = 0

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return joint_tree(env, seed, trained=trained, **field_values(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurnTree(RolloutPlan):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEpisodes(RolloutPlan):
    """One episode per rollout. ``with_state``: with the global state, for a central critic."""

    with_state: bool = False

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        if self.with_state:
            _check_state(env)
        episode = yield from episode_rollout(env, seed, with_state=self.with_state)
        return Batch.from_episode(episode)


@dataclass(frozen=True, slots=True)
class NoRollouts(RolloutPlan):
    """Plays nothing: the updater has all the data."""

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        yield from ()
        return Batch()


def _check_state(env: AECEnv) -> None:
    try:
        state = env.state()
    except NotImplementedError:
        state = None
    if not isinstance(state, str):
        raise ConfigError(
            f"a central critic reads env.state() as text, which {env} does not provide: use ippo or "
            "iac, whose critics read observations"
        )
