"""IPPO: independent PPO (arXiv 2011.09533, 2103.01955), and PPO for one agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from llmzoo.learners import ENV_DEFAULTS
from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.configs.critics import ActorCriticConfig, IPPOConfig


class IPPO(ActorCritic):
    """Credit: GAE over the agent's own turns; the critic reads what the agent reads.

    A completion's advantage says how much better than expected the episode went afterwards. Rewards
    count when they are received; ``lam`` sets how soon the critic's prediction replaces them. For
    each agent the others are part of the environment, so its critic reads only what the agent
    reads. As the others learn, that environment drifts; the clipped ratio limits the effect.

    The value after a finished episode is 0. After an episode that a time limit truncated, it is the
    critic's value of the last observation, unless the environment declares with
    ``metadata["time_limit"] = "task"`` that the limit is a rule of the task, as this suite's
    environments do. The option ``time_limit`` overrides this. A policy for several agents has one
    critic, which reads the role in the prompt; separate policies have separate critics.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IPPOConfig


class PPO(IPPO):
    """Credit: GAE over the turns of a single agent.

    PPO (arXiv 1707.06347): environments with a ``num_agents`` argument are created with
    ``num_agents=1``.
    """

    env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["ppo"]
