"""A bound on how far one optimiser step moves a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import gather_weights
from llmzoo.errors import DivergedError
from llmzoo.learners.losses import kl_k3
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.models.language_model import LanguageModel
from llmzoo.models.likelihood import Likelihood

KL_SUBSET_SIZE = 32  # completions of a minibatch on which the KL of a step is measured


@dataclass(frozen=True, slots=True)
class StepBound:
    """Shortens steps that move a policy by more than ``limit`` nats per token, as a trust region does.

    The KL from the policy before a step to the policy after it is estimated (k3) on a few completions.
    ``subset_likelihoods`` returns their likelihoods under the current policy. This KL grows with the square
    of a small step, so a step that is too long is multiplied by sqrt(limit / KL). If that is less than half
    its length, the KL is measured again, and the step is shortened until the KL is at most twice the limit.

    TRPO (arXiv 1502.05477) bounds the KL of its steps too, and finds their length by line search.
    """

    limit: float
    model: nn.Module
    subset_likelihoods: Callable[[], Sequence[Likelihood]]

    @torch.no_grad()
    def step(self, optimizer: Optimizer) -> tuple[float, dict[str, float]]:
        """A step of the optimiser; its gradient norm, and the metrics ``step_kl`` and ``step_scale``.

        Raises :class:`DivergedError`, with the weights as they were, if the KL is not finite.
        """
        weights, before = optimizer.weights(), self._likelihoods()
        norm = optimizer.step()

        def measure_kl() -> float:
            kl = self._kl(before)
            if not math.isfinite(kl):
                optimizer.interpolate(weights, 0.0)
                raise DivergedError(
                    f"a step of {optimizer.name!r} moves it by a KL of {kl}: lower learning_rate"
                )
            return kl

        kl = step_kl = measure_kl()
        scale, allowed = 1.0, self.limit
        while kl > allowed:
            share = math.sqrt(self.limit / kl)
            optimizer.interpolate(weights, share)
            scale *= share
            if share > 0.5:
                break
            kl, allowed = measure_kl(), 2 * self.limit
        return norm, {"step_kl": step_kl, "step_scale": scale}

    def _likelihoods(self) -> Sequence[Likelihood]:
        with gather_weights([self.model]):  # gathers sharded weights as they are after the step
            return self.subset_likelihoods()

    def _kl(self, before: Sequence[Likelihood]) -> float:
        """The mean over the tokens of all completions; the same on all ranks."""
        pairs = zip(before, self._likelihoods(), strict=True)
        summed = [
            torch.stack([(kl_k3(then.logprobs, now.logprobs) * then.mask).sum(), then.mask.sum()])
            for then, now in pairs
        ]
        total, tokens = torch.stack(summed).sum(0).tolist()  # a single transfer from the device
        return float(ranks.broadcast(total / max(1.0, tokens)))


def step_bound(
    policy: LanguageModel,
    optimizer: Optimizer,
    subset_likelihoods: Callable[[], Sequence[Likelihood]],
    *,
    update_fraction: float,
) -> StepBound | None:
    """The bound of one step, if the optimiser limits the KL of an update.

    ``update_fraction``: the length of the step as a fraction of the update's. The steps of an update
    have similar directions, and the KL grows with the square of their sum.
    """
    limit = optimizer.update_kl * update_fraction**2
    return StepBound(limit, policy.model, subset_likelihoods) if math.isfinite(limit) else None
