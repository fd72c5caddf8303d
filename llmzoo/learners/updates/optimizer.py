"""AdamW with a schedule and gradient-norm clipping, whose state is a dictionary of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import Parameter

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import clip_grad_norm, is_dtensor, shard_tensor_like
from llmzoo.errors import DivergedError
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.models.language_model import LanguageModel
from llmzoo.models.lora import parameter_count
from llmzoo.models.precision import MasterWeights


class Optimizer:
    """Trains ``parameters``. ``name`` appears in errors; ``total`` is the run's number of steps.
    ``update_kl``: the largest KL of an update, for :mod:`llmzoo.learners.updates.step_bound`.

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
        update_kl: float = math.inf,
    ):
        self.parameters = list(parameters)
        self.steps = 0  # optimiser steps taken
        self.total = total  # optimiser steps at the end of the schedule
        self.name, self.update_kl = name, update_kl
        self._config, self._rate = config, rate
        self._masters = MasterWeights(self.parameters)
        masters = self._masters.masters
        # fused steps cannot mix sharded and unsharded tensors
        self._order = sorted(range(len(masters)), key=lambda n: not is_dtensor(masters[n]))
        kinds = groupby([masters[n] for n in self._order], is_dtensor)
        self._adamw = torch.optim.AdamW(
            [{"params": list(alike)} for _, alike in kinds] or masters,
            lr=rate,
            betas=(float(config.adam_beta1), 0.99),  # torch rejects an integer next to a float
            weight_decay=config.weight_decay,
            fused=True,  # one pass over the weights instead of one per operation
        )

    @classmethod
    def for_policy(
        cls, policy: LanguageModel, config: OptimizerConfig, *, total: int, name: str
    ) -> Optimizer:
        """The optimiser of a policy's own parameters, at its learning rate or the default."""
        size, own = parameter_count(policy.model), policy.learning_rate
        rate = own or config.rate_for(size, adapter=policy.adapter is not None)
        known = bool(own or config.learning_rate or policy.has_known_rates)
        bound = config.update_kl_for(size, known_rate=known)
        return cls(policy.parameters(), config, rate=rate, total=total, name=name, update_kl=bound)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return self._rate * self._config.factor(self.steps, self.total)

    def zero_grad(self) -> None:
        for parameter in [*self.parameters, *self._masters.masters]:
            parameter.grad = None

    def accumulate(self) -> None:
        """Call this after each backward pass. It sums gradients of bfloat16 weights in float32."""
        self._masters.collect_gradients()

    def step(self) -> float:
        """Take a step with the accumulated gradients. Returns their norm.

        The shares of all ranks are summed, and all ranks take the same step. Raises
        :class:`DivergedError`, before anything changes, if the norm is not finite. Without
        gradients nothing changes.
        """
        norm = 0.0
        self.accumulate()
        masters = self._masters.masters
        ranks.all_reduce_gradients([master for master in masters if not is_dtensor(master)])
        if any(master.grad is not None for master in masters):
            norm = clip_grad_norm(masters, self._config.max_grad_norm)
            if not math.isfinite(norm):
                raise DivergedError(f"the gradient of {self.name!r} is {norm}: lower learning_rate")
            for group in self._adamw.param_groups:
                group["lr"] = self.rate
            self._adamw.step()
            self._masters.copy_to_model()
        self.steps += 1
        return norm

    def weights(self) -> list[Tensor]:
        """Copies of the weights."""
        return [master.detach().clone() for master in self._masters.masters]

    @torch.no_grad()
    def interpolate(self, before: Sequence[Tensor], share: float) -> None:
        """Set the weights to ``before`` + ``share`` x (current - ``before``); ``before`` is from :meth:`weights`."""
        for master, old in zip(self._masters.masters, before, strict=True):
            master.copy_(old + share * (master - old) if share else old)
        self._masters.copy_to_model()

    def state(self) -> dict[str, Tensor]:
        """All state except the weights: ``"number.name"``, ``"master.number"`` and ``"steps"``."""
        moments = {
            f"{self._order[number]}.{name}": torch.as_tensor(value).detach().clone().contiguous()
            for number, entry in self._adamw.state_dict()["state"].items()
            for name, value in entry.items()
        }
        masters = {f"master.{n}": t for n, t in self._masters.state_dict().items()}
        return {**moments, **masters, "steps": torch.tensor(self.steps)}

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state` returned. The weights must be restored first."""
        entries: dict[int, dict[str, Tensor]] = {}
        masters: dict[str, Tensor] = {}
        for (
            key,
            tensor,
        ) in tensors.items():  # read one at a time, to keep no more than is needed
            number, _, name = key.partition(".")
            if number == "master":
                masters[name] = shard_tensor_like(tensor, self._masters.masters[int(name)])
            elif number != "steps":
                like = self._masters.masters[int(number)]
                own = shard_tensor_like(tensor, like) if tensor.shape == like.shape else tensor
                entries.setdefault(int(number), {})[name] = own
        state = self._adamw.state_dict()
        state["state"] = {self._order.index(n): entry for n, entry in entries.items()}
        self._adamw.load_state_dict(state)
        self._masters.load_state_dict(masters)
        self.steps = int(tensors["steps"])
