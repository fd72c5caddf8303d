"""Options of the learners with a critic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError
from llmzoo.learners.configs.surrogate import SurrogateConfig

TimeLimit = Literal["auto", "bootstrap", "end"]
CriticForm = Literal["separate", "value_head"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCriticConfig(SurrogateConfig):
    """Options of every learner with a critic."""

    gamma: float = 1.0  # discount per turn of this agent
    lam: float = 0.95  # lambda of GAE: 0 is the one-step TD error, 1 the full return
    time_limit: TimeLimit = "auto"  # value at the end of a truncated episode
    values: Literal["turn", "token"] = "turn"  # one value per prompt, or one before each token
    critic: CriticForm = "separate"  # a separate model, or a head on the actor
    critic_model: str | None = None  # folder or hub id of a separate critic; None: the actor's
    critic_learning_rate: float | None = None  # None: the actor's rate, or 1e-3 for a head
    value_weight: float = 0.5  # weight of a head's loss, added to the actor's loss
    value_clip: float | None = 0.2  # clipping range of a value's change in one update
    whiten: bool = True  # standardise advantages over a batch's turns, or tokens
    target_kl: float | None = None  # stop training on a batch above this KL per token

    self_play: ClassVar[Mapping[str, Any]] = {"kl": 0.5}

    def __post_init__(self) -> None:
        SurrogateConfig.__post_init__(self)
        check_bounds(self, gamma="in [0, 1]", lam="in [0, 1]", value_weight="at least 0")
        check_bounds(
            self, value_clip="above 0", target_kl="above 0", critic_learning_rate="above 0"
        )
        if self.critic == "value_head" and self.critic_model is not None:
            raise ConfigError("critic_model has no effect with critic='value_head'")
        if self.target_kl is not None and self.clip is None:
            raise ConfigError("target_kl requires clip to be set")


@dataclass(frozen=True, slots=True, kw_only=True)
class IACConfig(ActorCriticConfig):
    """One-step advantages, one pass over each batch, and no clipping or whitening."""

    lam: float = 0.0
    value_clip: float | None = None
    whiten: bool = False

    def __post_init__(self) -> None:
        ActorCriticConfig.__post_init__(self)
        if self.lam != 0.0:
            raise ConfigError("lam must be 0 for a one-step learner: use ippo for GAE")


def check_central(config: ActorCriticConfig) -> None:
    """Reject options that a critic of the global state cannot use."""
    if config.critic != "separate":
        raise ConfigError("a central critic is a separate model: set critic='separate'")
    if config.values != "turn":
        raise ConfigError("a central critic predicts one value per state: set values='turn'")


@dataclass(frozen=True, slots=True, kw_only=True)
class MAACConfig(IACConfig):
    """IAC's settings with a central critic."""

    def __post_init__(self) -> None:
        IACConfig.__post_init__(self)
        check_central(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class IPPOConfig(ActorCriticConfig):
    """PPO's usual settings: clip 0.2, GAE with lambda 0.95, four passes, clipped values.

    Small models use half the learning rate of other learners, because each batch has four updates.
    On sudoku, success with 1e-4 ends 7 to 22 points higher than with 3e-4
    (docs/results/archive/learners_by_environments.md, learning rates).
    """

    rates_of_small: ClassVar[tuple[float, float]] = (1e-4, 1e-3)

    clip: float | None = 0.2
    epochs: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MAPPOConfig(IPPOConfig):
    """IPPO's settings; the critic is always a separate model and predicts one value per turn."""

    def __post_init__(self) -> None:
        IPPOConfig.__post_init__(self)
        check_central(self)
