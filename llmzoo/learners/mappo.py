"""MAPPO: PPO with one central critic (arXiv 2103.01955)."""

from __future__ import annotations

from typing import ClassVar

from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.configs.critics import ActorCriticConfig, MAPPOConfig


class MAPPO(ActorCritic):
    """Credit: GAE over the agent's own turns, from one critic that reads the global state.

    The critic is used only in training, so it may read what no agent sees: ``env.state()``. It has
    one output per agent, because agents may have different rewards, and is trained once per batch
    on the turns of all agents. It knows what the other agents see, so its values have less
    variance.
    """

    Config: ClassVar[type[ActorCriticConfig]] = MAPPOConfig
    central = True
