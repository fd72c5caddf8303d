"""Log-probabilities of tokens from hidden states, without all [tokens, vocabulary] logits at once.

Shapes: M tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llmzoo.models.cpu_products import linear
from llmzoo.models.precision import FULL_PRECISION
from llmzoo.models.sampling import Sampling, warp

# logits computed at once: 32 MiB of float32 on a CPU, little more than its caches; else 256 MiB
_CPU_LOGITS, _LOGITS = 2**23, 2**26
_MIN_LOGPROB = torch.finfo(torch.float32).min

# for each target [M]: its log-probability and the entropy of its distribution, in float32; if asked
# for, whether no other token is more likely
Scores = tuple[Tensor, Tensor, "Tensor | None"]


def score(
    head: nn.Module,
    states: Tensor,
    targets: Tensor,
    sampling: Sampling,
    *,
    vocabulary: int,
    recompute: bool,
    top: bool = False,
) -> Scores:
    """The scores of targets [M] from hidden states.

    ``head`` maps ``states`` [M, H] to logits [., V], a few million logits at a time. If they do not
    fit in one chunk, or with ``recompute``, the backward pass computes them again. ``top`` asks for
    the third score, which costs another pass over the logits.
    """
    chunk_tokens = tokens_per_chunk(states.device, vocabulary)
    if len(targets) <= chunk_tokens and not recompute:
        return score_logits(head(states), targets, sampling, top)
    if _is_unfiltered(sampling) and _is_plain_product(head, states):
        weights = head.get_parameter("weight")
        scores: Scores = _ProductScore.apply(
            states, weights, targets, sampling.temperature, chunk_tokens, top
        )
        return scores

    def score_chunk(states: Tensor, targets: Tensor) -> Scores:
        return score_logits(head(states), targets, sampling, top)

    chunk_scores = [
        checkpoint(score_chunk, *chunk, use_reentrant=False, preserve_rng_state=False)
        for chunk in zip(states.split(chunk_tokens), targets.split(chunk_tokens), strict=True)
    ]
    chosen, entropy, tops = zip(*chunk_scores, strict=True)
    return torch.cat(chosen), torch.cat(entropy), torch.cat(tops) if top else None


def tokens_per_chunk(device: torch.device, vocabulary: int) -> int:
    """The tokens whose logits over the vocabulary are computed together."""
    return max(1, (_CPU_LOGITS if device.type == "cpu" else _LOGITS) // vocabulary)


def _is_unfiltered(sampling: Sampling) -> bool:
    return sampling.top_k == 0 and sampling.top_p == 1.0


def _is_plain_product(head: nn.Module, states: Tensor) -> bool:
    """Whether logits are a plain product of states and a matrix, not in half precision."""
    return (
        type(head) is nn.Linear
        and head.bias is None
        and states.dtype == head.weight.dtype
        and states.dtype in FULL_PRECISION
        and not torch.is_autocast_enabled(states.device.type)
    )


def score_logits(logits: Tensor, targets: Tensor, sampling: Sampling, top: bool = False) -> Scores:
    """The scores of targets [M] from logits [M, V]."""
    if _is_unfiltered(sampling):
        scores: Scores = _Score.apply(logits, targets, sampling.temperature, top)
        return scores
    logprobs = warp(logits, sampling, keep=targets)
    chosen = logprobs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    probabilities = logprobs.exp()
    entropy = -(probabilities * logprobs.masked_fill(probabilities == 0, 0.0)).sum(dim=-1)
    return chosen, entropy, _is_top(chosen, logprobs) if top else None


def _is_top(chosen: Tensor, logprobs: Tensor) -> Tensor:
    return chosen.detach() >= logprobs.detach().amax(dim=-1)


class _Score(torch.autograd.Function):
    """log p[target], -sum p log p and, if asked, p[target] = max p; p = softmax(logits / temperature).

    With z = logits / temperature: d log p[t] / dz = onehot(t) - p, and d entropy / dz =
    -p (log p + entropy). Only log p is kept for the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Tensor, temperature: float, with_top: bool
    ) -> Scores:
        logprobs = (logits.float() / temperature).log_softmax(dim=-1)
        logprobs.clamp_min_(_MIN_LOGPROB)  # -inf times 0 would be NaN
        chosen = logprobs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        entropy = -torch.linalg.vecdot(logprobs.exp(), logprobs)
        top = None
        if with_top:
            top = _is_top(chosen, logprobs)
            ctx.mark_non_differentiable(top)
        ctx.save_for_backward(logprobs, targets, entropy)
        ctx.temperature, ctx.dtype = temperature, logits.dtype
        ctx.set_materialize_grads(False)
        return chosen, entropy, top

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        logprobs, targets, entropy = ctx.saved_tensors
        grad = _logit_gradient(logprobs, targets, entropy, *grads[:2])
        return (grad / ctx.temperature).to(ctx.dtype), None, None, None


class _ProductScore(torch.autograd.Function):
    """The same from states [M, H] and a matrix [V, H], ``chunk_tokens`` tokens at a time.

    Nothing of size V is kept. The backward pass computes the logits again and adds the
    gradient of each chunk to one gradient of the matrix.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weights: Tensor,
        targets: Tensor,
        temperature: float,
        chunk_tokens: int,
        with_top: bool,
    ) -> Scores:
        chosen, entropy = states.new_empty(2, len(states)).unbind()
        top = torch.empty_like(targets, dtype=torch.bool) if with_top else None
        for at in range(0, len(states), chunk_tokens):
            chunk = slice(at, at + chunk_tokens)
            logits = linear(states[chunk], weights)
            logprobs = logits.div_(temperature).log_softmax(dim=-1)
            chosen[chunk] = logprobs.gather(-1, targets[chunk].unsqueeze(-1)).squeeze(-1)
            if top is not None:
                top[chunk] = _is_top(chosen[chunk], logprobs)
            entropy[chunk] = -torch.linalg.vecdot(torch.exp(logprobs, out=logits), logprobs)
        if top is not None:
            ctx.mark_non_differentiable(top)
        ctx.save_for_backward(states, weights, targets, entropy)
        ctx.temperature, ctx.chunk_tokens = temperature, chunk_tokens
        ctx.set_materialize_grads(False)
        return chosen, entropy, top

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        states, weights, targets, entropy = ctx.saved_tensors
        grad_states = torch.empty_like(states)
        # a head under adapters is frozen
        grad_weights = torch.zeros_like(weights) if ctx.needs_input_grad[1] else None
        for at in range(0, len(states), ctx.chunk_tokens):
            chunk = slice(at, at + ctx.chunk_tokens)
            logits = linear(states[chunk], weights).div_(ctx.temperature)
            grad = _logit_gradient(
                logits.log_softmax(dim=-1),
                targets[chunk],
                entropy[chunk],
                *(None if x is None else x[chunk] / ctx.temperature for x in grads[:2]),
            )
            torch.mm(grad, weights, out=grad_states[chunk])
            if grad_weights is not None:
                grad_weights.addmm_(grad.T, states[chunk])
        return grad_states, grad_weights, None, None, None, None


def _logit_gradient(
    logprobs: Tensor,
    targets: Tensor,
    entropy: Tensor,
    grad_chosen: Tensor | None,
    grad_entropy: Tensor | None,
) -> Tensor:
    """The gradient [M, V] with respect to logits / temperature, given those of the scores [M]."""
    chosen_weight = torch.zeros_like(entropy) if grad_chosen is None else grad_chosen
    grad = logprobs.exp()
    if grad_entropy is None:
        grad *= -chosen_weight.unsqueeze(-1)
    else:
        slope = (logprobs + entropy.unsqueeze(-1)) * grad_entropy.unsqueeze(-1)
        grad *= -(slope + chosen_weight.unsqueeze(-1))
    return grad.scatter_add_(-1, targets.unsqueeze(-1), chosen_weight.unsqueeze(-1))
