"""IAC and MAAC: one-step actor-critic, independent (COMA's baseline, arXiv 1705.08926) or central."""

from __future__ import annotations

from typing import ClassVar

from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.configs.critics import ActorCriticConfig, IACConfig, MAACConfig


class IAC(ActorCritic):
    """Credit: the temporal difference r + gamma V(next) - V(now), with one critic per policy.

    The advantage is the reward until the agent's next turn plus the change in the critic's value.
    It has low variance, and is biased as long as the critic is inaccurate.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IACConfig


class MAAC(ActorCritic):
    """Credit: the temporal difference of one central critic that reads the global state."""

    Config: ClassVar[type[ActorCriticConfig]] = MAACConfig
    central = True
