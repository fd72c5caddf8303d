"""AdamW with a schedule, a bound on the gradient, and a state of named tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import Parameter

from llmzoo.errors import ConfigError, DivergedError
from llmzoo.policies.precision import MasterWeights

SMALL = 10_000_000  # parameters; models below learn at a far higher rate


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerConfig:
    """Options of everything that is trained by gradients."""

    learning_rate: float | None = None  # None: 1e-6, and 2e-4 below 10 million parameters
    schedule: Literal["constant", "linear", "cosine"] = "constant"  # after the warm-up
    warmup: int = 0  # optimiser steps of linear warm-up
    weight_decay: float = 0.0  # of AdamW
    max_grad_norm: float = 1.0  # a longer gradient is scaled down to it

    def __post_init__(self) -> None:
        if self.learning_rate is not None and self.learning_rate <= 0:
            raise ConfigError(f"learning_rate must be above 0, got {self.learning_rate}")
        if self.warmup < 0 or self.weight_decay < 0 or self.max_grad_norm <= 0:
            raise ConfigError("warmup and weight_decay are at least 0, max_grad_norm is above 0")

    def rate_for(self, model: torch.nn.Module) -> float:
        """The learning rate that was set, or one that suits the model's size."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 2e-4 if sum(p.numel() for p in model.parameters()) < SMALL else 1e-6

    def factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied with at optimiser step ``step`` of ``total``."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return 1.0 - done if self.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))


class Optimizer:
    """Trains ``parameters``; ``name`` is for error texts, ``total`` the steps of the whole run.

    Parameters in bfloat16 are trained through float32 copies, which are part of the state.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        config: OptimizerConfig,
        *,
        rate: float,
        total: int,
        name: str,
    ):
        self.parameters = list(parameters)
        self.steps = 0  # taken so far
        self.total = total  # at which the schedule ends
        self._config, self._rate, self._name = config, rate, name
        self._masters = MasterWeights(self.parameters)
        self._adamw = torch.optim.AdamW(
            self._masters.masters,
            lr=rate,
            betas=(0.9, 0.99),
            weight_decay=config.weight_decay,
            fused=True,  # a pass over the weights rather than one for each operation
        )

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return self._rate * self._config.factor(self.steps, self.total)

    def zero_grad(self) -> None:
        for parameter in [*self.parameters, *self._masters.masters]:
            parameter.grad = None

    def accumulate(self) -> None:
        """Call after each backward pass: the gradients of bfloat16 weights add up in float32."""
        self._masters.gradients()

    def step(self) -> float:
        """Take a step with the gradients that have come together; returns their norm.

        Raises :class:`DivergedError`, before anything is changed, where it is not finite. Without
        gradients nothing is changed.
        """
        norm = 0.0
        self.accumulate()
        masters = self._masters.masters
        if any(master.grad is not None for master in masters):
            norm = float(torch.nn.utils.clip_grad_norm_(masters, self._config.max_grad_norm))
            if not math.isfinite(norm):
                raise DivergedError(
                    f"the gradient of {self._name!r} is {norm}: lower learning_rate"
                )
            for group in self._adamw.param_groups:
                group["lr"] = self.rate
            self._adamw.step()
            self._masters.publish()
        self.steps += 1
        return norm

    def state(self) -> dict[str, Tensor]:
        """Everything but the weights themselves: ``"number.name"``, ``"master.number"``, ``"steps"``."""
        found = {
            f"{number}.{name}": torch.as_tensor(value).detach().clone().contiguous()
            for number, entry in self._adamw.state_dict()["state"].items()
            for name, value in entry.items()
        }
        masters = {f"master.{n}": t for n, t in self._masters.state_dict().items()}
        return {**found, **masters, "steps": torch.tensor(self.steps)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what :meth:`state` gave; the weights have been put in place before."""
        entries: dict[int, dict[str, Tensor]] = {}
        masters: dict[str, Tensor] = {}
        for key, tensor in tensors.items():
            number, _, name = key.partition(".")
            if number == "master":
                masters[name] = tensor
            elif number != "steps":
                entries.setdefault(int(number), {})[name] = tensor
        state = self._adamw.state_dict()
        state["state"] = entries
        self._adamw.load_state_dict(state)
        self._masters.load_state_dict(masters)
        self.steps = int(tensors["steps"])
