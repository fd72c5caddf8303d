"""The options of learners that have a critic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmzoo.errors import ConfigError
from llmzoo.learners.updates.surrogate import SurrogateConfig

TimeLimit = Literal["auto", "bootstrap", "end"]
CriticForm = Literal["separate", "value_head"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCriticConfig(SurrogateConfig):
    """Options of every learner with a critic."""

    gamma: float = 1.0  # discount per turn of the agent's own
    lam: float = 0.95  # lambda of GAE: 0 one step ahead, 1 the return itself
    time_limit: TimeLimit = "auto"  # what an episode that was cut off is worth then
    values: Literal["turn", "token"] = "turn"  # a value of each prompt, or before each token
    critic: CriticForm = "separate"  # a model of its own, or a head on the actor
    critic_model: str | None = None  # folder or hub id of a separate critic; None: as the actor
    critic_learning_rate: float | None = None  # None: the actor's, and 1e-3 for a head
    value_weight: float = 0.5  # of a head's loss beside the actor's
    value_clip: float | None = 0.2  # farthest that a value moves from the one that played
    whiten: bool = True  # advantages of mean 0 and deviation 1 over a batch's turns, or its tokens
    target_kl: float | None = None  # no further optimiser steps in a batch beyond this KL per token

    def __post_init__(self) -> None:
        SurrogateConfig.__post_init__(self)
        for name in ("gamma", "lam"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f"{name} must be in [0, 1], got {value}")
        for name in ("value_clip", "target_kl", "critic_learning_rate"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name} must be above 0 or None, got {value}")
        if self.critic == "value_head" and self.critic_model is not None:
            raise ConfigError("critic_model means nothing beside critic='value_head'")
        if self.target_kl is not None and self.clip is None:
            raise ConfigError("target_kl means nothing without clip")
        if self.value_weight < 0:
            raise ConfigError(f"value_weight must be at least 0, got {self.value_weight}")
