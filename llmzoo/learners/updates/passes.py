"""Passes over a batch: minibatches, gradients accumulated over parts, one optimiser step each."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import DivergedError
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.learners.updates.credits import Credited
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.parts import dealt, parts, tokens_of
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.policies.memory import limited_by
from llmzoo.policies.transformers import TransformersPolicy

Item = TypeVar("Item")
Part = TypeVar("Part")

SMALLER = "gradient_checkpointing, precision=bf16 and seats=lora need less memory too."


class PartLoss(Protocol):
    """A part's share of the loss of a minibatch with ``rows`` completions and ``tokens`` tokens."""

    def __call__(
        self, part: Sequence[Credited], *, rows: int, tokens: int
    ) -> tuple[Tensor, Metrics]: ...


def passes(
    policy: TransformersPolicy,
    optimizers: Sequence[Optimizer],
    credited: Sequence[Credited],
    loss: PartLoss,
    config: SurrogateConfig,
    rng: random.Random,
    *,
    enough: Callable[[dict[str, float]], bool] = lambda metrics: False,
    all_matter: bool = False,
    loss_of: Callable[[str], object] = lambda agent: None,
) -> dict[str, float]:
    """Train one policy on a batch, in an order drawn from ``rng``. Returns metrics.

    ``optimizers``: the policy's own first, then those of other parameters that the loss trains.
    ``enough``: called after each optimiser step with its metrics, as means over tokens; True skips
    the remaining passes. ``all_matter``: answers without an advantage have a gradient too. ``loss_of``:
    see :func:`llmzoo.learners.updates.parts.parts`.
    """
    cut = partial(parts, policy, loss_of=loss_of)
    totals: dict[str, float] = {}
    norms: list[float] = []
    losses: list[float] = []
    for minibatch in minibatches(credited, config, rng):
        rows = sum(len(c.group.completions) for c in minibatch)
        tokens = sum(len(x.ids) for c in minibatch for x in c.group.completions)
        # a group with equal returns adds nothing to the gradient, but counts in the mean
        needed = [c for c in minibatch if all_matter or bool(c.advantages.any())]
        norm, metrics = optimizer_step(
            optimizers,
            dealt(needed, config.tokens_at_once or policy.tokens_at_once, cut),
            partial(loss, rows=rows, tokens=tokens),
            at_once=("tokens_at_once", _tokens_in),
            whose=repr(policy.name),
            remedy="lower learning_rate or set clip",
        )
        norms.append(norm)
        losses.append(metrics.pop("loss"))
        for key, amount in metrics.items():
            totals[key] = totals.get(key, 0.0) + amount
        if enough(_per_token(metrics)):
            break
    return {
        "loss": sum(losses) / max(1, len(losses)),
        "grad_norm": sum(norms) / max(1, len(norms)),
        "learning_rate": optimizers[0].rate,
        **_per_token(totals),
    }


def optimizer_step(
    optimizers: Sequence[Optimizer],
    parts: Iterable[tuple[Part, bool]],
    loss: Callable[[Part], tuple[Tensor, Metrics]],
    *,
    at_once: tuple[str, Callable[[Part], int]],
    whose: str,
    remedy: str = "lower learning_rate",
) -> tuple[float, dict[str, float]]:
    """One step of each optimiser on the gradient of a batch that is read in ``parts``.

    ``loss`` returns a part's share of the batch's loss, and its shares of metrics. ``at_once``: the
    setting that bounds a part, and a part's size in its unit. Parts that do not count are run
    without effect, see :func:`llmzoo.learners.updates.parts.dealt`. Returns the gradient norm of the
    first optimiser, and the sums over parts and ranks, ``loss`` among them.

    Raises :class:`DivergedError`, before any weight changes, if the loss is not finite, and
    :class:`OutOfMemoryError` if a part does not fit into a GPU's memory.
    """
    setting, size_of = at_once
    shares: Metrics = {"loss": 0.0}
    for optimizer in optimizers:
        optimizer.zero_grad()
    for part, counts in parts:
        with limited_by(setting, size_of(part), f"A training pass of {whose}", SMALLER):
            value, metrics = loss(part)
            (value if counts else value * 0).backward()
        for optimizer in optimizers:
            optimizer.accumulate()
        for key, amount in {"loss": value, **metrics}.items() if counts else ():
            exact = amount.detach().double() if isinstance(amount, Tensor) else amount
            shares[key] = shares.get(key, 0.0) + exact
    sums = ranks.summed(on_host(shares))
    if not math.isfinite(sums["loss"]):
        raise DivergedError(f"the loss of {whose} is {sums['loss']}: {remedy}")
    norms = [optimizer.step() for optimizer in optimizers]
    return norms[0], sums


def on_host(metrics: Metrics) -> dict[str, float]:
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
    cut_up = []
    for _ in range(config.epochs):
        order = rng.sample(items, len(items))
        count = min(config.minibatches, len(order))
        cuts = [len(order) * i // count for i in range(count + 1)] if count else []
        cut_up += [order[start:end] for start, end in pairwise(cuts)]
    return cut_up


def _tokens_in(part: Sequence[Credited]) -> int:
    return sum(tokens_of(credited.group) for credited in part)


def _per_token(totals: dict[str, float]) -> dict[str, float]:
    tokens = max(1.0, totals.get("tokens", 0.0))
    return {key: value / tokens for key, value in totals.items() if key != "tokens"}
