"""Passes over a batch: minibatches, gradients accumulated over parts, one optimiser step each."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol, TypeVar

from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import DivergedError
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.policy_gradient import Credited, SurrogateConfig
from llmzoo.policies.packing import packs
from llmzoo.policies.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group

Item = TypeVar("Item")
Part = TypeVar("Part")


class PartLoss(Protocol):
    """A part's share of the loss of a minibatch with ``rows`` completions and ``tokens`` tokens."""

    def __call__(
        self, part: Sequence[Credited], *, rows: int, tokens: int
    ) -> tuple[Tensor, dict[str, float]]: ...


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
) -> dict[str, float]:
    """Train one policy on a batch, in an order drawn from ``rng``. Returns metrics.

    ``optimizers``: the policy's own first, then those of other parameters that the loss trains.
    ``enough``: called after each optimiser step with its metrics, as means over tokens; True skips
    the remaining passes. ``all_matter``: answers without an advantage have a gradient too.
    """
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
            dealt(needed, config.tokens_at_once, partial(parts, policy)),
            partial(loss, rows=rows, tokens=tokens),
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
    loss: Callable[[Part], tuple[Tensor, dict[str, float]]],
    *,
    whose: str,
    remedy: str = "lower learning_rate",
) -> tuple[float, dict[str, float]]:
    """One step of each optimiser on the gradient of a batch that is read in ``parts``.

    ``loss`` returns a part's share of the batch's loss, and its shares of metrics. Parts that do
    not count are run without effect, see :func:`dealt`. Returns the gradient norm of the first
    optimiser, and the sums over parts and ranks, ``loss`` among them.

    Raises :class:`DivergedError`, before any weight changes, if the loss is not finite.
    """
    sums = {"loss": 0.0}
    for optimizer in optimizers:
        optimizer.zero_grad()
    for part, counts in parts:
        value, metrics = loss(part)
        (value if counts else value * 0).backward()
        for optimizer in optimizers:
            optimizer.accumulate()
        for key, amount in {"loss": value.item(), **metrics}.items() if counts else ():
            sums[key] = sums.get(key, 0.0) + amount
    sums = ranks.summed(sums)
    if not math.isfinite(sums["loss"]):
        raise DivergedError(f"the loss of {whose} is {sums['loss']}: {remedy}")
    norms = [optimizer.step() for optimizer in optimizers]
    return norms[0], sums


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


def _per_token(totals: dict[str, float]) -> dict[str, float]:
    tokens = max(1.0, totals.get("tokens", 0.0))
    return {key: value / tokens for key, value in totals.items() if key != "tokens"}


def dealt(
    items: Sequence[Item], tokens_at_once: int, cut: Callable[[Sequence[Item], int], list[Part]]
) -> list[tuple[Part, bool]]:
    """This rank's parts of a minibatch, which ``cut`` divides, and whether each part counts.

    All ranks get the same number of parts, because the ranks of a sharded model run it together. A
    rank with too few parts also runs a part of another rank, which does not count.
    """
    world = ranks.world()
    if world == 1:
        return [(part, True) for part in cut(items, tokens_at_once)]
    pieces = cut(items, tokens_at_once)
    while len(pieces) < min(world, len(items)) and tokens_at_once > 1:
        tokens_at_once = -(-tokens_at_once // 2)
        pieces = cut(items, tokens_at_once)
    mine = [(part, True) for part in pieces[ranks.rank() :: world]]
    lacking = len(mine) < math.ceil(len(pieces) / world)
    return [*mine, (pieces[0], False)] if lacking else mine


def parts(
    policy: TransformersPolicy, credited: Sequence[Credited], tokens_at_once: int
) -> list[list[Credited]]:
    """Parts of at most ``tokens_at_once`` tokens, with groups of equal sampling settings.

    Groups are sorted by prompt length. A prompt counts once for all its completions. A group with
    too many tokens is split.
    """
    alike: dict[Sampling, list[Credited]] = {}
    for c in sorted(credited, key=lambda c: len(c.group.prompt_ids)):
        pieces = _divided(c, tokens_at_once)
        alike.setdefault(policy.sampling_of(c.group.agent), []).extend(pieces)
    return [
        [pieces[i] for i in pack]
        for pieces in alike.values()
        for pack in packs([_tokens(c.group) for c in pieces], tokens_at_once)
    ]


def _divided(credited: Credited, tokens_at_once: int) -> list[Credited]:
    group = credited.group
    if _tokens(group) <= tokens_at_once:
        return [credited]
    sizes = [len(completion.ids) for completion in group.completions]
    return [
        Credited(group.only(pack), credited.advantages[pack.start : pack.stop])
        for pack in packs(sizes, tokens_at_once - len(group.prompt_ids))
    ]


def _tokens(group: Group) -> int:
    return len(group.prompt_ids) + sum(len(completion.ids) for completion in group.completions)
