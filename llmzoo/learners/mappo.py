"""MAPPO: PPO with one central critic (arXiv 2103.01955)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from llmzoo.errors import ConfigError
from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.ippo import IPPOConfig
from llmzoo.learners.updates.critics import ActorCriticConfig


def check_central(config: ActorCriticConfig) -> None:
    """Refuse options that a critic of the global state cannot use."""
    if config.critic != "separate":
        raise ConfigError("a central critic is a model of its own: critic is 'separate'")
    if config.values != "turn":
        raise ConfigError("a central critic judges states, of which a turn has one: values='turn'")


@dataclass(frozen=True, slots=True, kw_only=True)
class MAPPOConfig(IPPOConfig):
    """IPPO's settings; the critic is always a model of its own and judges turns."""

    def __post_init__(self) -> None:
        IPPOConfig.__post_init__(self)
        check_central(self)


class MAPPO(ActorCritic):
    """Credit: GAE over the agent's own turns, from one critic that reads the global state.

    The critic is used only in training, so it may read what no seat sees: ``env.state()``. It has
    one output for each seat, because seats are paid differently, and is trained once per batch on
    the turns of all seats. It knows what the other seats see, so its values have less variance.
    """

    Config: ClassVar[type[ActorCriticConfig]] = MAPPOConfig
    central = True
