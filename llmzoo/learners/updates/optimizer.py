"""AdamW with a schedule, a bound on the gradient, and a state of named tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import Parameter

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import bounded, divided_like, is_divided
from llmzoo.errors import ConfigError, DivergedError
from llmzoo.policies.lora import base_parameters
from llmzoo.policies.precision import MasterWeights
from llmzoo.policies.transformers import TransformersPolicy

SMALL = 10_000_000  # parameters; smaller models learn at a far higher rate


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerConfig:
    """Options of every learner's optimiser."""

    learning_rate: float | None = None  # None: 1e-6 (2e-4 below 10M parameters), LoRA 10 x that
    schedule: Literal["constant", "linear", "cosine"] = "constant"  # after the warm-up
    warmup: int = 0  # optimiser steps of linear warm-up
    momentum: float = 0.9  # AdamW's beta1; with 0, self-play goes less in circles
    weight_decay: float = 0.0  # of AdamW
    max_grad_norm: float = 1.0  # gradient-norm clipping threshold

    # defaults for the full weights of a model, and for an adapter of it
    rates: ClassVar[tuple[float, float]] = (1e-6, 1e-5)
    rates_of_small: ClassVar[tuple[float, float]] = (2e-4, 2e-3)

    def __post_init__(self) -> None:
        if self.learning_rate is not None and self.learning_rate <= 0:
            raise ConfigError(f"learning_rate must be above 0, got {self.learning_rate}")
        if not 0.0 <= self.momentum < 1.0:
            raise ConfigError(f"momentum must be in [0, 1), got {self.momentum}")
        if self.warmup < 0 or self.weight_decay < 0 or self.max_grad_norm <= 0:
            raise ConfigError("warmup and weight_decay are at least 0, max_grad_norm is above 0")

    def rate_for(self, model: torch.nn.Module, *, adapter: bool = False) -> float:
        """The configured learning rate, or the default for full weights or for an adapter.

        ``adapter``: an adapter of ``model`` is trained, not the model's own weights.
        An adapter starts at zero and changes each weight less, so it needs a higher rate: about
        ten times that of full weights (Schulman and Thinking Machines Lab, "LoRA Without Regret",
        2025). A model below 10 million parameters, adapters not counted, is small.
        """
        if self.learning_rate is not None:
            return self.learning_rate
        small = sum(p.numel() for p in base_parameters(model)) < SMALL
        full, of_adapter = self.rates_of_small if small else self.rates
        return of_adapter if adapter else full

    def factor(self, step: int, total: int) -> float:
        """The schedule's factor on the learning rate at optimiser step ``step`` of ``total``."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - self.warmup) / max(1, total - self.warmup))
        return 1.0 - done if self.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))


class Optimizer:
    """Trains ``parameters``. ``name`` appears in errors; ``total`` is the run's number of steps.

    bfloat16 parameters are trained through float32 copies, which are part of the state.
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
        masters = self._masters.masters
        # fused steps do not mix tensors that are divided over ranks with those that are not
        self._order = sorted(range(len(masters)), key=lambda n: not is_divided(masters[n]))
        kinds = groupby([masters[n] for n in self._order], is_divided)
        self._adamw = torch.optim.AdamW(
            [{"params": list(alike)} for _, alike in kinds] or masters,
            lr=rate,
            betas=(float(config.momentum), 0.99),  # torch refuses an integer beside a float
            weight_decay=config.weight_decay,
            fused=True,  # a pass over the weights rather than one for each operation
        )

    @classmethod
    def of(
        cls, policy: TransformersPolicy, config: OptimizerConfig, *, total: int, name: str
    ) -> Optimizer:
        """The optimiser of a policy's own parameters, at its learning rate or the default."""
        rate = policy.learning_rate or config.rate_for(
            policy.model, adapter=policy.adapter is not None
        )
        return cls(policy.parameters(), config, rate=rate, total=total, name=name)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return self._rate * self._config.factor(self.steps, self.total)

    def zero_grad(self) -> None:
        for parameter in [*self.parameters, *self._masters.masters]:
            parameter.grad = None

    def accumulate(self) -> None:
        """Call this after each backward pass. It sums gradients of bfloat16 weights in float32."""
        self._masters.gradients()

    def step(self) -> float:
        """Take a step with the accumulated gradients. Returns their norm.

        The shares of all ranks are summed, and all ranks take the same step. Raises
        :class:`DivergedError`, before anything changes, if the norm is not finite. Without
        gradients nothing changes.
        """
        norm = 0.0
        self.accumulate()
        masters = self._masters.masters
        ranks.sum_gradients([master for master in masters if not is_divided(master)])
        if any(master.grad is not None for master in masters):
            norm = bounded(masters, self._config.max_grad_norm)
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
        """All state but the weights: ``"number.name"``, ``"master.number"`` and ``"steps"``."""
        moments = {
            f"{self._order[number]}.{name}": torch.as_tensor(value).detach().clone().contiguous()
            for number, entry in self._adamw.state_dict()["state"].items()
            for name, value in entry.items()
        }
        masters = {f"master.{n}": t for n, t in self._masters.state_dict().items()}
        return {**moments, **masters, "steps": torch.tensor(self.steps)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state` returned. The weights must be restored first."""
        entries: dict[int, dict[str, Tensor]] = {}
        masters: dict[str, Tensor] = {}
        for (
            key,
            tensor,
        ) in tensors.items():  # read one by one, and of each no more kept than is needed
            number, _, name = key.partition(".")
            if number == "master":
                masters[name] = divided_like(tensor, self._masters.masters[int(name)])
            elif number != "steps":
                like = self._masters.masters[int(number)]
                own = divided_like(tensor, like) if tensor.shape == like.shape else tensor
                entries.setdefault(int(number), {})[name] = own
        state = self._adamw.state_dict()
        state["state"] = {self._order.index(n): entry for n, entry in entries.items()}
        self._adamw.load_state_dict(state)
        self._masters.load_state_dict(masters)
        self.steps = int(tensors["steps"])
