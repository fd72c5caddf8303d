"""How far a model's next-token distributions are from a teacher's, over the whole vocabulary.

The KL penalty to the starting policy is another measure: :mod:`llmzoo.learners.updates.kl_reference`.

Shapes: N completions of T tokens in all, C tokens (padded), H hidden size, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from llmzoo.models.scoring import tokens_per_chunk

_MIN_LOGPROB = torch.finfo(torch.float32).min


def generalized_jsd(student: Tensor, teacher: Tensor, beta: float) -> Tensor:
    """The generalised Jensen-Shannon divergence [...] of log-probabilities [..., V], in nats.

    With m = beta teacher + (1 - beta) student it is beta KL(teacher || m) + (1 - beta) KL(student || m):
    GKD (Agarwal et al., arXiv 2306.13649). That is 0 for ``beta`` 0 and 1, which mean here what the
    divergence tends to when it is divided by beta or by 1 - beta: KL(teacher || student) for 0, and
    KL(student || teacher), the reverse KL, for 1.
    """
    student, teacher = (
        student.clamp_min(_MIN_LOGPROB),
        teacher.clamp_min(_MIN_LOGPROB),
    )  # -inf times 0 is NaN
    if beta == 0.0:
        return _kl(teacher, student)
    if beta == 1.0:
        return _kl(student, teacher)
    mixture = torch.logaddexp(student + math.log1p(-beta), teacher + math.log(beta))
    return beta * _kl(teacher, mixture) + (1 - beta) * _kl(student, mixture)


def _kl(one: Tensor, other: Tensor) -> Tensor:
    return (one.exp() * (one - other)).sum(dim=-1)


@dataclass(frozen=True, slots=True)
class TeacherPrediction:
    """What a teacher predicts before some tokens: its ``states`` [M, H], and its output layer, which is
    ``weight`` [V, H] and ``bias`` [V]. ``at`` [M]: which tokens of all, one completion after the other."""

    at: Tensor
    states: Tensor
    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True, slots=True)
class DistillationTarget:
    """The predictions that a likelihood is compared with, together for all its tokens."""

    predictions: Sequence[TeacherPrediction]
    beta: float

    def divergence(
        self,
        head: Callable[[Tensor], Tensor],
        states: Tensor,
        temperature: float,
        prepare: Callable[[], None],
    ) -> Tensor:
        """The divergence [T] before each token, from the student's states [T, H].

        ``head``: the student's output layer. ``prepare``: called before each use of it, also in the
        backward pass. Both distributions are at ``temperature``, and over the tokens that both have.
        """

        def chunk_divergence(
            states: Tensor, teacher_states: Tensor, weight: Tensor, bias: Tensor | None
        ) -> Tensor:
            prepare()
            logits = head(states)
            with torch.no_grad():
                wanted = F.linear(teacher_states, weight, bias)
            size = min(logits.shape[-1], wanted.shape[-1])  # larger models pad their vocabulary
            own, other = (
                (x[..., :size].float() / temperature).log_softmax(dim=-1) for x in (logits, wanted)
            )
            return generalized_jsd(own, other, self.beta)

        result = torch.zeros(len(states), device=states.device)
        options: dict[str, Any] = {"use_reentrant": False, "preserve_rng_state": False}
        for p in self.predictions:
            chunk_tokens = tokens_per_chunk(states.device, len(p.weight))
            rows = states[p.at]
            if len(rows) <= chunk_tokens:
                chunks = [chunk_divergence(rows, p.states, p.weight, p.bias)]
            else:  # the backward pass computes the logits again
                chunks = [
                    checkpoint(chunk_divergence, own, teacher_states, p.weight, p.bias, **options)
                    for own, teacher_states in zip(
                        rows.split(chunk_tokens), p.states.split(chunk_tokens), strict=True
                    )
                ]
            result = result.index_copy(0, p.at, torch.cat(chunks))
        return result
