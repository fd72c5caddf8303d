"""Options of every policy gradient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError
from llmzoo.learners.configs.optimizer import OptimizerConfig, update_kl_limit

Reduction = Literal["token_mean", "sequence_sum", "sequence_mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurrogateConfig(OptimizerConfig):
    """Options of every policy gradient."""

    clip: float | None = None  # clips the ratio to [1 - clip, 1 + clip]; None: no ratio
    clip_high: float | None = None  # separate upper clip (clip-higher, DAPO)
    dual_clip: float | None = None  # upper limit of the ratio if A < 0, above 1 (dual clip)
    ratio: Literal["token", "sequence"] = "token"  # one ratio per token, or per completion (GSPO)
    importance_cap: float | None = None  # without clip, upper limit of a token's ratio (TIS)
    kl: float = 0.0  # weight of the KL to the frozen starting policy (k3 estimate)
    entropy: float = 0.0  # weight of the entropy bonus
    reduction: Reduction = "token_mean"  # how tokens are weighted (losses.token_weights)
    max_update_kl: float | None = None  # largest KL of an update; None: by model (docs/training.md)
    epochs: int = 1  # passes over each batch
    minibatches: int = 1  # optimiser steps per pass
    microbatch_tokens: int | None = None  # tokens per forward pass; gradients are accumulated

    rates: ClassVar[tuple[float, float]] = (1e-6, 1e-4)  # docs/results/archive/smollm2.md

    # defaults if trained agents play against each other (docs/results/archive/weak_starts.md)
    self_play: ClassVar[Mapping[str, Any]] = {"kl": 0.2}

    def __post_init__(self) -> None:
        OptimizerConfig.__post_init__(self)
        check_bounds(self, epochs="at least 1", minibatches="at least 1")
        check_bounds(self, microbatch_tokens="at least 1", max_update_kl="above 0", kl="at least 0")
        check_bounds(self, clip="above 0", clip_high="above 0", dual_clip="above 1")
        check_bounds(self, importance_cap="above 0")
        if self.clip is None:
            if self.epochs > 1 or self.minibatches > 1:
                raise ConfigError(
                    "several updates from one batch need the clipped ratio: set clip, such as 0.2"
                )
            for name in ("clip_high", "dual_clip"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"{name} requires clip to be set")
            if self.ratio != "token":
                raise ConfigError("ratio requires clip to be set")
        elif self.importance_cap is not None:
            raise ConfigError(
                "clip already weights tokens by their ratio: leave importance_cap out"
            )

    def update_kl_for(self, parameters: int, *, known_rate: bool) -> float:
        """See :func:`llmzoo.learners.configs.optimizer.update_kl_limit`."""
        return update_kl_limit(self.max_update_kl, parameters, known_rate=known_rate)

    @property
    def is_anchored(self) -> bool:
        """Whether the loss keeps a policy close to its start, by a KL penalty or an entropy bonus."""
        return bool(self.kl or self.entropy)

    @property
    def includes_zero_advantage(self) -> bool:
        """Whether completions with advantage 0 have a gradient too."""
        return bool(self.kl or self.entropy)
