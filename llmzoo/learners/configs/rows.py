"""Options of the learners that train on rows of prompts and given completions: SFT."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.configs.optimizer import OptimizerConfig

SCRIPTED = ("expert", "noisy_expert", "mixed")  # scripted policies that play demonstrations


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsConfig(OptimizerConfig):
    """Options of every learner that trains on rows."""

    epochs: int = 1  # passes over each iteration's rows
    batch_size: int = 32  # rows per optimiser step
    microbatch_rows: int = 256  # rows per forward pass; gradients are accumulated
    max_length: int | None = None  # tokens of prompt and completion; the rest is cut off

    def __post_init__(self) -> None:
        OptimizerConfig.__post_init__(self)
        check_bounds(self, epochs="at least 1", batch_size="at least 1")
        check_bounds(self, microbatch_rows="at least 1", max_length="at least 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTConfig(RowsConfig):
    """Options of supervised fine-tuning."""

    source: str = "expert"  # expert, noisy_expert, mixed, self, or a file, folder or hub id
    expert_share: float = 0.5  # with source="mixed": fraction of decisions by the expert
    min_return: float | None = None  # learn from episodes with at least this return
    success_only: bool = False  # learn from episodes that succeeded
    top: float | None = None  # learn from this fraction of an iteration's episodes, the best
    loss_type: Literal["nll", "dft"] = "nll"  # dft weights a token by its probability (2508.05629)
    mode: Literal["behaviour", "world_model", "mix"] = "behaviour"  # completions or observations
    world_model_weight: float = 1.0  # with mode="mix": world-model rows for each behaviour row
    learning_rate: float | None = None  # None: 2e-5 (2e-4 below 10M parameters), LoRA 10 x that

    rates: ClassVar[tuple[float, float]] = (2e-5, 2e-4)

    def __post_init__(self) -> None:
        RowsConfig.__post_init__(self)
        if self.loss_type not in ("nll", "dft"):
            raise UnknownNameError("loss_type", self.loss_type, ("nll", "dft"))
        known = [*SCRIPTED, "self"]
        close_matches = difflib.get_close_matches(self.source, known, n=1, cutoff=0.75)
        if close_matches and self.source not in known and not Path(self.source).exists():
            raise UnknownNameError("source of demonstrations", self.source, known)
        if self.expert_share != 0.5 and self.source != "mixed":
            raise ConfigError("expert_share has no effect unless source is 'mixed'")
        if self.world_model_weight != 1.0 and self.mode != "mix":
            raise ConfigError("world_model_weight has no effect unless mode is 'mix'")
        check_bounds(self, expert_share="in [0, 1]", top="in (0, 1]", world_model_weight="above 0")
        if self.mode not in ("behaviour", "world_model", "mix"):
            raise ConfigError(f"mode must be behaviour, world_model or mix, got {self.mode!r}")
        if self.mode == "world_model" and self.filters:
            raise ConfigError(
                "min_return, success_only and top select episodes to imitate and have no effect with "
                "mode='world_model': leave them out"
            )
        if self.source == "self" and self.mode != "world_model" and not self.filters:
            raise ConfigError(
                "source='self' imitates the model's best episodes: set top, min_return or success_only"
            )

    @property
    def filters(self) -> bool:
        return self.top is not None or self.min_return is not None or self.success_only

    @property
    def plays_episodes(self) -> bool:
        """Whether episodes are played rather than read from a file."""
        return self.source in (*SCRIPTED, "self")
