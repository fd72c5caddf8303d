"""Options of every optimiser."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from llmzoo.bounds import check_bounds

SMALL_MODEL_PARAMETERS = 10_000_000  # smaller models need a much higher learning rate
DEFAULT_UPDATE_KL = 0.001  # nats per token: the limit for a small model without a known rate


def update_kl_limit(max_update_kl: float | None, parameters: int, *, known_rate: bool) -> float:
    """The option ``max_update_kl`` as a number, or its default if it is None (infinity: no bound).

    The default rate of small models was tuned on the embedded model. On a task that another model has just
    begun to solve, updates at this rate can undo everything, so they are bounded
    (docs/results/archive/weak_starts.md). ``known_rate``: the rate was set by the user, or the model is the
    embedded one or was trained from it.
    """
    if max_update_kl is not None:
        return max_update_kl
    return DEFAULT_UPDATE_KL if not known_rate and parameters < SMALL_MODEL_PARAMETERS else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerConfig:
    """Options of every learner's optimiser."""

    learning_rate: float | None = None  # None: depends on model and adapter (docs/training.md)
    schedule: Literal["constant", "linear", "cosine"] = "constant"  # after the warm-up
    warmup: int = 0  # optimiser steps of linear warm-up
    adam_beta1: float = 0.9  # AdamW's beta1; 0 reduces cycling in self-play
    weight_decay: float = 0.0  # AdamW's weight decay
    max_grad_norm: float = 1.0  # gradient-norm clipping threshold

    # default rates for the full weights of a model, and for an adapter on it
    rates: ClassVar[tuple[float, float]] = (1e-6, 1e-5)
    rates_of_small: ClassVar[tuple[float, float]] = (2e-4, 2e-3)

    def __post_init__(self) -> None:
        check_bounds(self, learning_rate="above 0", adam_beta1="in [0, 1)", warmup="at least 0")
        check_bounds(self, weight_decay="at least 0", max_grad_norm="above 0")

    def rate_for(self, parameters: int, *, adapter: bool = False) -> float:
        """The configured learning rate, or the default for full weights or for an adapter.

        ``parameters``: the number of the model's parameters, without adapters. ``adapter``: an
        adapter on it is trained. An adapter starts at zero and changes each weight less, so it
        needs a higher rate: at least ten times that of full weights (Schulman and Thinking Machines
        Lab, "LoRA Without Regret", 2025). A model with fewer than 10 million parameters is small.
        """
        if self.learning_rate is not None:
            return self.learning_rate
        full, adapter_rate = (
            self.rates_of_small if parameters < SMALL_MODEL_PARAMETERS else self.rates
        )
        return adapter_rate if adapter else full

    @classmethod
    def default_rates(cls) -> str:
        """A description of the default, ``learning_rate: null``."""
        full, adapter, small, small_adapter = (
            np.format_float_scientific(rate, trim="-", exp_digits=1)
            for rate in (*cls.rates, *cls.rates_of_small)
        )
        return (
            f"by model: {full}, LoRA {adapter}; "
            f"below {SMALL_MODEL_PARAMETERS // 10**6}M parameters {small}, LoRA {small_adapter}"
        )

    def update_kl_for(self, parameters: int, *, known_rate: bool) -> float:
        """The largest KL of an update: unlimited for learners without the option ``max_update_kl``."""
        return math.inf

    def factor(self, step: int, total: int) -> float:
        """The schedule's factor on the learning rate at optimiser step ``step`` of ``total``."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return 1.0 - done if self.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))
