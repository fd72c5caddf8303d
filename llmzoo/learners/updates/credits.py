"""Groups with their advantages, for updates and for the records of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from llmzoo.records import Batch, Group


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """A group with the advantages of its completions, [K], or of their tokens, [K, C]."""

    group: Group
    advantages: Tensor


def keep_sampled(groups: Sequence[Group]) -> list[Group]:
    """The groups, restricted to completions that a model sampled; others enter no baseline."""
    kept = []
    for group in groups:
        sampled = [i for i, c in enumerate(group.completions) if c.trainable]
        if sampled:
            kept.append(group if len(sampled) == len(group.completions) else group.select(sampled))
    return kept


def completion_advantages(batch: Batch, used: Iterable[ScoredGroup]) -> list[float | None]:
    """The advantage of each of ``batch.completions`` in ``used``, as the loss received it.

    Completions are matched by identity, because groups may have been filtered or rebuilt. Per-token
    advantages are averaged over the completion.
    """
    advantage_of: dict[int, float] = {}
    for scored in used:
        completions, advantages_of_group = scored.group.completions, scored.advantages
        if advantages_of_group.dim() == 2:  # per token, padded after a completion's last token
            rows = zip(advantages_of_group, completions, strict=True)
            advantages_of_group = torch.stack([row[: len(c.ids)].mean() for row, c in rows])
        advantage_of |= zip(map(id, completions), advantages_of_group.tolist(), strict=True)
    return [advantage_of.get(id(completion)) for completion in batch.completions]


def merge_credits(
    batch: Batch, parts: Sequence[tuple[Batch, Sequence[float | None]]]
) -> list[float | None]:
    """The credits of a batch that several updaters trained on, each on a part of it.

    ``parts``: each part with its credits. The parts share the batch's completion objects.
    """
    given = {
        id(completion): advantage
        for part, credits in parts
        for completion, advantage in zip(part.completions, credits, strict=True)
        if advantage is not None
    }
    return [given.get(id(completion)) for completion in batch.completions]
