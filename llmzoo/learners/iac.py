"""IAC and MAAC: one-step actor-critic, independent (COMA's baseline, arXiv 1705.08926) or central."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from llmzoo.errors import ConfigError
from llmzoo.learners.actor_critic import ActorCritic
from llmzoo.learners.mappo import check_central
from llmzoo.learners.updates.critics import ActorCriticConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class IACConfig(ActorCriticConfig):
    """One step ahead, one pass, plain gradients."""

    lam: float = 0.0
    value_clip: float | None = None
    whiten: bool = False

    def __post_init__(self) -> None:
        ActorCriticConfig.__post_init__(self)
        if self.lam != 0.0:
            raise ConfigError("lam is 0: one step ahead is what this learner is; ippo has GAE")


@dataclass(frozen=True, slots=True, kw_only=True)
class MAACConfig(IACConfig):
    """IAC's settings with a central critic."""

    def __post_init__(self) -> None:
        IACConfig.__post_init__(self)
        check_central(self)


class IAC(ActorCritic):
    """Credit: the temporal difference r + gamma V(next) - V(now), each agent with its own critic.

    The advantage is what was paid until the agent's next turn, plus the change in the critic's
    value. It has little variance, and is biased for as long as the critic is wrong.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IACConfig


class MAAC(ActorCritic):
    """Credit: the temporal difference of one central critic that reads the global state."""

    Config: ClassVar[type[ActorCriticConfig]] = MAACConfig
    central = True
