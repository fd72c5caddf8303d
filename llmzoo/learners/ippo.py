"""IPPO: independent PPO (arXiv 2011.09533, 2103.01955), and PPO for one agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.updates.critics import ActorCriticConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class IPPOConfig(ActorCriticConfig):
    """PPO's usual settings: clip 0.2, GAE with lambda 0.95, four passes, clipped values.

    Small models take half the rate of other learners: each batch has four updates. On sudoku 1e-4 ends 7
    to 22 points above 3e-4 (docs/results/archive/learners_by_environments.md, learning rates).
    """

    rates_of_small: ClassVar[tuple[float, float]] = (1e-4, 1e-3)

    clip: float | None = 0.2
    epochs: int = 4


class IPPO(ActorCritic):
    """Credit: GAE over the agent's own turns, its critic reading what the agent reads.

    An answer's advantage says how much better than expected the episode went afterwards. Rewards
    count when they are paid; ``lam`` sets how soon the critic's expectation replaces them. For each
    agent the others are part of the environment, so its critic reads only what the agent reads. As
    the others learn, that environment drifts; the clipped ratio limits the effect.

    A finished episode ends with value 0. An episode that a time limit cut off ends with the
    critic's value of the last observation, unless the environment declares with
    ``metadata["time_limit"] = "task"`` that the limit is a rule of the task, as this suite's
    environments do. The option ``time_limit`` overrides this. A policy in several seats has one
    critic, which reads the role in the prompt; separate policies have separate critics.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IPPOConfig


class PPO(IPPO):
    """Credit: GAE over the turns of one agent playing alone.

    PPO (arXiv 1707.06347): environments with a choice of seats are made with ``num_agents=1``.
    """

    env_defaults: ClassVar[Mapping[str, Any]] = {"num_agents": 1}
