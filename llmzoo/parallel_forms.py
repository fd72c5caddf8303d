"""The parallel form of an environment: PettingZoo's conversions, with an error that names missing actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import (
    aec_to_parallel_wrapper,
    parallel_to_aec_wrapper,
    turn_based_aec_to_parallel_wrapper,
)


def to_parallel(env: AECEnv) -> ParallelEnv:
    """The parallel form of ``env``, for simultaneous or turn-based play."""
    for inner in (env, getattr(env, "env", None)):
        if isinstance(inner, parallel_to_aec_wrapper):
            return inner.env
    return (
        _SimultaneousWrapper(env)
        if env.metadata.get("is_parallelizable", False)
        else _TurnBasedWrapper(env)
    )


class _SimultaneousWrapper(aec_to_parallel_wrapper):
    def step(self, actions: Mapping[str, Any]) -> Any:
        _check_actions(actions, self.agents, "of every agent in env.agents")
        return super().step(actions)


class _TurnBasedWrapper(turn_based_aec_to_parallel_wrapper):
    def step(self, actions: Mapping[str, Any]) -> Any:
        expected_agents = [self.aec_env.agent_selection] if self.agents else []
        _check_actions(
            actions, expected_agents, 'of the agent that infos[agent]["active_agent"] names'
        )
        return super().step(actions)


def _check_actions(actions: Mapping[str, Any], agents: Sequence[str], needed: str) -> None:
    """Refuse, before anything is played, actions that lack one of ``agents``."""
    missing = [agent for agent in agents if agent not in actions]
    if missing:
        raise ValueError(
            f"step needs an action {needed}: {', '.join(missing)} is missing, and there are actions of "
            f"{', '.join(map(str, actions)) or 'nobody'}"
        )
