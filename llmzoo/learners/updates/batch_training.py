"""Passes over a batch: minibatches, gradients accumulated over parts, one optimiser step each."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import DivergedError
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.microbatches import count_tokens, make_microbatches, shard_microbatches
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.learners.updates.step_bound import SAMPLE_SIZE, StepBound, step_bound
from llmzoo.models.likelihood import Likelihood
from llmzoo.models.memory import explain_out_of_memory
from llmzoo.policies.transformers import TransformersPolicy

Item = TypeVar("Item")
Part = TypeVar("Part")

SAMPLER_METRICS = ("sampler_difference", "sampler_kl")  # metrics of a batch before any step on it

MEMORY_ADVICE = "gradient_checkpointing, precision=bf16 and policies=lora need less memory too."


class MicrobatchLoss(Protocol):
    """A part's share of the loss of a minibatch with ``rows`` completions and ``tokens`` tokens."""

    def __call__(
        self, part: Sequence[ScoredGroup], *, rows: int, tokens: int
    ) -> tuple[Tensor, Metrics]: ...


def train_on_batch(
    policy: TransformersPolicy,
    optimizers: Sequence[Optimizer],
    credited: Sequence[ScoredGroup],
    loss: MicrobatchLoss,
    config: SurrogateConfig,
    rng: random.Random,
    *,
    stop_early: Callable[[dict[str, float]], bool] = lambda metrics: False,
    include_zero_advantage: bool = False,
    loss_of: Callable[[str], object] = lambda agent: None,
) -> dict[str, float]:
    """Train one policy on a batch, in an order drawn from ``rng``. Returns metrics.

    ``optimizers``: the policy's own first, then those of other parameters that the loss trains.
    ``stop_early``: called after each optimiser step with its metrics, as means over tokens; True skips
    the remaining passes. ``include_zero_advantage``: answers without an advantage have a gradient too. ``loss_of``:
    see :func:`llmzoo.learners.updates.microbatches.make_microbatches`.
    """
    split = partial(make_microbatches, policy, loss_of=loss_of)
    at_once = config.tokens_at_once or policy.tokens_at_once

    def sample(minibatch: Sequence[ScoredGroup]) -> list[Likelihood]:
        read = split(_sample_groups(minibatch), at_once)
        return [policy.likelihood([c.group for c in part]) for part in read]

    totals: dict[str, float] = {}
    agreement: dict[str, float] = {}
    steps: list[dict[str, float]] = []
    todo = minibatches(credited, config, rng)
    for minibatch in todo:
        rows = sum(len(c.group.completions) for c in minibatch)
        tokens = sum(len(x.ids) for c in minibatch for x in c.group.completions)
        # a group with equal returns adds nothing to the gradient, but counts in the mean
        needed = [c for c in minibatch if include_zero_advantage or bool(c.advantages.any())]
        step, metrics = optimizer_step(
            optimizers,
            shard_microbatches(needed, at_once, split),
            partial(loss, rows=rows, tokens=tokens),
            at_once=("tokens_at_once", _count_tokens),
            whose=repr(policy.name),
            bound=step_bound(
                policy, optimizers[0], partial(sample, minibatch), share=1 / len(todo)
            ),
            remedy="lower learning_rate or set clip",
        )
        steps.append({"loss": metrics.pop("loss"), **step})
        if not totals:
            agreement = _per_token(
                {k: metrics[k] for k in (*SAMPLER_METRICS, "tokens") if k in metrics}
            )
        for key, amount in metrics.items():
            totals[key] = totals.get(key, 0.0) + amount
        if stop_early(_per_token(metrics)):
            break
    return {
        **average_steps(steps),
        "learning_rate": optimizers[0].rate,
        **_per_token(totals),
        **agreement,
    }


def optimizer_step(
    optimizers: Sequence[Optimizer],
    microbatches: Iterable[tuple[Part, bool]],
    loss: Callable[[Part], tuple[Tensor, Metrics]],
    *,
    at_once: tuple[str, Callable[[Part], int]],
    whose: str,
    bound: StepBound | None = None,
    remedy: str = "lower learning_rate",
) -> tuple[dict[str, float], dict[str, float]]:
    """One step of each optimiser on the gradient of a batch that is read in ``parts``.

    ``loss`` returns a part's share of the batch's loss, and its shares of metrics. ``at_once``: the
    setting that bounds a part, and a part's size in its unit. Parts that do not count are run
    without effect, see :func:`llmzoo.learners.updates.microbatches.shard_microbatches`. ``bound``: of the first
    optimiser's step. Returns the first optimiser's ``grad_norm`` and metrics of the bound, and the sums
    over parts and ranks, ``loss`` among them.

    Raises :class:`DivergedError`, before any weight changes, if the loss is not finite, and
    :class:`OutOfMemoryError` if a part does not fit into a GPU's memory.
    """
    setting, size_of = at_once
    microbatches = list(microbatches)
    shares: Metrics = {"loss": 0.0}
    for optimizer in optimizers:
        optimizer.zero_grad()
    for part, counts in microbatches:
        with explain_out_of_memory(
            setting, size_of(part), f"A training pass of {whose}", MEMORY_ADVICE
        ):
            value, metrics = loss(part)
            (value if counts else value * 0).backward()
        for optimizer in optimizers:
            optimizer.accumulate()
        for key, amount in {"loss": value, **metrics}.items() if counts else ():
            exact = amount.detach().double() if isinstance(amount, Tensor) else amount
            shares[key] = shares.get(key, 0.0) + exact
    sums = ranks.all_reduce_sum(to_floats(shares))
    if not math.isfinite(sums["loss"]):
        raise DivergedError(f"the loss of {whose} is {sums['loss']}: {remedy}")
    first, *others = optimizers
    bounded: dict[str, float] = {}
    if bound is None or not microbatches:  # without a gradient there is no step
        norm = first.step()
    else:
        norm, bounded = bound.step(first)
    for optimizer in others:
        optimizer.step()
    return {"grad_norm": norm, **bounded}, sums


def to_floats(metrics: Metrics) -> dict[str, float]:
    """The metrics as numbers, with a single read of the device."""
    tensors = {name: value for name, value in metrics.items() if isinstance(value, Tensor)}
    read = torch.stack([*tensors.values()]).tolist() if tensors else []
    numbers = {name: value for name, value in metrics.items() if not isinstance(value, Tensor)}
    known = {**numbers, **dict(zip(tensors, read, strict=True))}
    return {name: known[name] for name in metrics}


def minibatches(
    items: Sequence[Item], config: SurrogateConfig, rng: random.Random
) -> list[list[Item]]:
    """Every epoch's items, reshuffled, in ``config.minibatches`` minibatches of nearly equal size.

    If there are fewer items than minibatches, each item is a minibatch.
    """
    shuffled = []
    for _ in range(config.epochs):
        order = rng.sample(items, len(items))
        count = min(config.minibatches, len(order))
        cuts = [len(order) * i // count for i in range(count + 1)] if count else []
        shuffled += [order[start:end] for start, end in pairwise(cuts)]
    return shuffled


def average_steps(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over the optimiser steps of an iteration; 0 where there were none."""
    found: dict[str, list[float]] = {"loss": [], "grad_norm": []}
    for step in steps:
        for key, value in step.items():
            found.setdefault(key, []).append(value)
    return {key: sum(values) / max(1, len(values)) for key, values in found.items()}


def _sample_groups(minibatch: Sequence[ScoredGroup]) -> list[ScoredGroup]:
    """The first groups, in their random order, with about :data:`SAMPLE` completions."""
    counts = accumulate(len(c.group.completions) for c in minibatch)
    few = [c for c, count in zip(minibatch, counts, strict=True) if count <= SAMPLE_SIZE]
    return few or [*minibatch[:1]]


def _count_tokens(part: Sequence[ScoredGroup]) -> int:
    return sum(count_tokens(credited.group) for credited in part)


def _per_token(totals: dict[str, float]) -> dict[str, float]:
    tokens = max(1.0, totals.get("tokens", 0.0))
    return {key: value / tokens for key, value in totals.items() if key != "tokens"}
