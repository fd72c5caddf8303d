"""A bound on how far one optimiser step moves a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import DivergedError
from llmzoo.learners.losses import kl_k3
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.policies.likelihood import Likelihood

SAMPLE = 32  # answers of a batch on which a step is measured


@dataclass(frozen=True, slots=True)
class StepBound:
    """Shortens steps that move a policy by more than ``limit`` nats a token, as a trust region does.

    ``sample``: likelihoods of some of the batch's answers by the policy as it is now. They are computed before
    and after a step and give a k3 estimate of the KL from the policy before it to that after it. For small
    steps this KL grows with the square of the step, so a step that goes too far is multiplied by
    sqrt(limit / KL). TRPO (arXiv 1502.05477) holds its steps to a KL too, and searches for the factor.
    """

    limit: float
    sample: Callable[[], Sequence[Likelihood]]

    @torch.no_grad()
    def step(self, optimizer: Optimizer) -> tuple[float, dict[str, float]]:
        """A step of the optimiser; its gradient norm, and the metrics ``step_kl`` and ``step_scale``.

        Raises :class:`DivergedError`, with the weights as they were, if the KL is not finite.
        """
        weights = optimizer.weights()
        before = [now.logprobs for now in self.sample()]
        norm = optimizer.step()
        kl = ranks.told(_kl(before, self.sample()))
        if not math.isfinite(kl):
            optimizer.interpolate(weights, 0.0)
            raise DivergedError(
                f"after a step, {optimizer.name!r} is {kl} from the policy before it"
            )
        scale = min(1.0, math.sqrt(self.limit / kl)) if kl > 0 else 1.0
        if scale < 1.0:
            optimizer.interpolate(weights, scale)
        return norm, {"step_kl": kl, "step_scale": scale}


def _kl(before: Sequence[Tensor], after: Sequence[Likelihood]) -> float:
    """The mean over the tokens of all answers."""
    tokens = sum(float(now.mask.sum()) for now in after)
    pairs = zip(before, after, strict=True)
    return sum(float((kl_k3(b, now.logprobs) * now.mask).sum()) for b, now in pairs) / max(
        1.0, tokens
    )
