"""IPPO: independent PPO (arXiv 2011.09533, 2103.01955), and PPO for one agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.updates.critics import ActorCriticConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class IPPOConfig(ActorCriticConfig):
    """PPO's usual settings: clip 0.2, GAE with lambda 0.95, four passes, clipped values."""

    clip: float | None = 0.2
    epochs: int = 4


class IPPO(ActorCritic):
    """Credit: GAE over the agent's own turns, its critic reading what the agent reads.

    An answer's advantage is how much better than expected things went from there: rewards count
    when they are paid, and beyond ``lam`` turns the critic's expectation stands for them. To each
    agent the others are part of the world, so its critic needs nothing that the agent does not
    see; what the others change meanwhile makes that world drift, which the clipped ratio bounds.
    An episode that is over ends with 0, one that a time limit cut off with the critic's value of
    what the agent reads then, unless the environment says in ``metadata["time_limit"] = "task"``
    that the limit is a rule of the task, as those of this suite do; ``time_limit`` decides
    otherwise. Policies in several seats have one critic for all of them,
    which reads the role in the prompt; policies of their own have critics of their own.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IPPOConfig


class PPO(IPPO):
    """Credit: GAE over the turns of one agent playing alone.

    PPO (arXiv 1707.06347): environments with a choice of seats are made with ``num_agents=1``.
    """

    env_defaults: ClassVar[Mapping[str, Any]] = {"num_agents": 1}
