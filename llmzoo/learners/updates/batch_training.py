"""Trains on a batch: one step on each minibatch, accumulating gradients over microbatches."""

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
from llmzoo.learners.updates.step_bound import KL_SUBSET_SIZE, StepBound, step_bound
from llmzoo.models.language_model import LanguageModel
from llmzoo.models.likelihood import Likelihood
from llmzoo.models.memory import explain_out_of_memory

Item = TypeVar("Item")
Microbatch = TypeVar("Microbatch")

SAMPLER_METRICS = ("sampler_difference", "sampler_kl")  # measured before any step on the batch

MEMORY_ADVICE = "gradient_checkpointing, precision=bf16 and policies=lora also reduce memory use."


class MicrobatchLoss(Protocol):
    """A microbatch's share of the loss of a minibatch with ``rows`` completions and ``tokens`` tokens."""

    def __call__(
        self, microbatch: Sequence[ScoredGroup], /, *, rows: int, tokens: int
    ) -> tuple[Tensor, Metrics]: ...


def train_on_batch(
    policy: LanguageModel,
    optimizers: Sequence[Optimizer],
    scored: Sequence[ScoredGroup],
    loss: MicrobatchLoss,
    config: SurrogateConfig,
    rng: random.Random,
    *,
    stop_early: Callable[[dict[str, float]], bool] = lambda metrics: False,
    include_zero_advantage: bool = False,
    loss_key: Callable[[str], object] = lambda agent: None,
) -> dict[str, float]:
    """Train one policy on a batch, in an order shuffled by ``rng``. Returns metrics.

    ``optimizers``: the policy's own first, then those of other parameters that the loss trains.
    ``stop_early``: called after each optimiser step with its metrics, as means over tokens. If it
    returns True, the remaining minibatches are skipped. ``include_zero_advantage``: also train on
    groups whose advantages are all zero, for losses that have a gradient there too. ``loss_key``:
    maps an agent to a key of its loss. All groups of a microbatch have the same key.
    """
    split = partial(make_microbatches, policy, loss_key=loss_key)
    microbatch_tokens = config.microbatch_tokens or policy.microbatch_tokens

    def kl_subset_likelihoods(minibatch: Sequence[ScoredGroup]) -> list[Likelihood]:
        microbatches = split(_kl_subset(minibatch), microbatch_tokens)
        return [policy.likelihood([c.group for c in microbatch]) for microbatch in microbatches]

    totals: dict[str, float] = {}
    sampler_metrics: dict[str, float] = {}
    steps: list[dict[str, float]] = []
    schedule = minibatches(scored, config, rng)
    for minibatch in schedule:
        rows = sum(len(c.group.completions) for c in minibatch)
        tokens = sum(len(x.ids) for c in minibatch for x in c.group.completions)
        # groups with zero advantages do not change the gradient, but count in the mean
        contributing = [c for c in minibatch if include_zero_advantage or bool(c.advantages.any())]
        step, metrics = optimizer_step(
            optimizers,
            shard_microbatches(contributing, microbatch_tokens, split),
            partial(loss, rows=rows, tokens=tokens),
            size_option="microbatch_tokens",
            measure_size=_count_tokens,
            model_label=repr(policy.name),
            bound=step_bound(
                policy,
                optimizers[0],
                partial(kl_subset_likelihoods, minibatch),
                update_fraction=1 / len(schedule),
            ),
            remedy="lower learning_rate or set clip",
        )
        steps.append({"loss": metrics.pop("loss"), **step})
        if not totals:
            sampler_metrics = _per_token(
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
        **sampler_metrics,
    }


def optimizer_step(
    optimizers: Sequence[Optimizer],
    microbatches: Iterable[tuple[Microbatch, bool]],
    loss: Callable[[Microbatch], tuple[Tensor, Metrics]],
    *,
    size_option: str,
    measure_size: Callable[[Microbatch], int],
    model_label: str,
    bound: StepBound | None = None,
    remedy: str = "lower learning_rate",
) -> tuple[dict[str, float], dict[str, float]]:
    """Take one step with each optimiser, on the gradient accumulated over ``microbatches``.

    ``microbatches``: pairs of a microbatch and whether it counts. One that does not count is run with
    its loss multiplied by 0, so that all ranks run a sharded model equally often. ``loss`` returns a
    microbatch's share of the batch's loss and of the metrics. ``size_option``: the name of the option
    that limits the size of a microbatch, which an out-of-memory error suggests lowering.
    ``measure_size``: the size of a microbatch, in the unit of that option. ``model_label``: names the
    model in error messages. ``bound``: limits the first optimiser's step. ``remedy``: what to change
    if the loss is not finite.

    Returns two mappings: the first optimiser's ``grad_norm`` with the bound's metrics, and the sums
    of ``loss`` and the metrics over microbatches and ranks.

    Raises :class:`DivergedError`, before any weight changes, if the loss is not finite, and
    :class:`llmzoo.errors.OutOfMemoryError` if a microbatch does not fit into a GPU's memory.
    """
    microbatches = list(microbatches)
    shares: Metrics = {"loss": 0.0}
    for optimizer in optimizers:
        optimizer.zero_grad()
    for microbatch, counts in microbatches:
        with explain_out_of_memory(
            size_option,
            measure_size(microbatch),
            f"A training pass of {model_label}",
            MEMORY_ADVICE,
        ):
            value, metrics = loss(microbatch)
            (value if counts else value * 0).backward()
        for optimizer in optimizers:
            optimizer.accumulate()
        for key, amount in {"loss": value, **metrics}.items() if counts else ():
            exact = amount.detach().double() if isinstance(amount, Tensor) else amount
            shares[key] = shares.get(key, 0.0) + exact
    sums = ranks.all_reduce_sum(to_floats(shares))
    if not math.isfinite(sums["loss"]):
        raise DivergedError(f"the loss of {model_label} is {sums['loss']}: {remedy}")
    first, *others = optimizers
    bound_metrics: dict[str, float] = {}
    if bound is None or not microbatches:  # without microbatches no weight changes
        norm = first.step()
    else:
        norm, bound_metrics = bound.step(first)
    for optimizer in others:
        optimizer.step()
    return {"grad_norm": norm, **bound_metrics}, sums


def to_floats(metrics: Metrics) -> dict[str, float]:
    """The metrics as floats. All tensors are read from the device in one transfer."""
    tensors = {name: value for name, value in metrics.items() if isinstance(value, Tensor)}
    values = torch.stack([*tensors.values()]).tolist() if tensors else []
    numbers = {name: value for name, value in metrics.items() if not isinstance(value, Tensor)}
    floats = {**numbers, **dict(zip(tensors, values, strict=True))}
    return {name: floats[name] for name in metrics}


def minibatches(
    items: Sequence[Item], config: SurrogateConfig, rng: random.Random
) -> list[list[Item]]:
    """Split each epoch's reshuffled items into ``config.minibatches`` minibatches of nearly equal size.

    If there are fewer items than minibatches, each item is a minibatch.
    """
    split = []
    for _ in range(config.epochs):
        order = rng.sample(items, len(items))
        count = min(config.minibatches, len(order))
        cuts = [len(order) * i // count for i in range(count + 1)] if count else []
        split += [order[start:end] for start, end in pairwise(cuts)]
    return split


def average_steps(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over an iteration's optimiser steps. Without steps, ``loss`` and ``grad_norm`` are 0."""
    values_by_key: dict[str, list[float]] = {"loss": [], "grad_norm": []}
    for step in steps:
        for key, value in step.items():
            values_by_key.setdefault(key, []).append(value)
    return {key: sum(values) / max(1, len(values)) for key, values in values_by_key.items()}


def _kl_subset(minibatch: Sequence[ScoredGroup]) -> list[ScoredGroup]:
    """The groups on which the KL of a step is measured: the first ones of a shuffled minibatch.

    They have at most :data:`KL_SUBSET_SIZE` completions, unless the first group alone has more.
    """
    counts = accumulate(len(c.group.completions) for c in minibatch)
    selected = [c for c, count in zip(minibatch, counts, strict=True) if count <= KL_SUBSET_SIZE]
    return selected or [*minibatch[:1]]


def _count_tokens(microbatch: Sequence[ScoredGroup]) -> int:
    return sum(count_tokens(scored.group) for scored in microbatch)


def _per_token(totals: dict[str, float]) -> dict[str, float]:
    tokens = max(1.0, totals.get("tokens", 0.0))
    return {key: value / tokens for key, value in totals.items() if key != "tokens"}
