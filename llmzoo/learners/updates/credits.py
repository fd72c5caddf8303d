"""Which advantage each answer of a batch was learned from with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from llmzoo.learners.updates.surrogate import Credited
from llmzoo.records import Batch


def credits_of(batch: Batch, used: Iterable[Credited]) -> list[float | None]:
    """The advantage of each of ``batch.completions`` in ``used``: what a loss was given.

    Groups may have lost completions on their way there, or be others with the same ones, so answers
    are told apart as objects. The mean over its tokens where each has its own.
    """
    found: dict[int, float] = {}
    for credited in used:
        completions, given = credited.group.completions, credited.advantages
        if given.dim() == 2:  # one a token, and nothing after an answer's last
            rows = zip(given, completions, strict=True)
            given = torch.stack([row[: len(c.ids)].mean() for row, c in rows])
        found |= zip(map(id, completions), given.tolist(), strict=True)
    return [found.get(id(completion)) for completion in batch.completions]


def merged_credits(
    batch: Batch, found: Sequence[tuple[Batch, Sequence[float | None]]]
) -> list[float | None]:
    """The credits of a batch whose parts were learned from apart: pairs of a part and its credits.

    A part shares the completions of the batch.
    """
    given = {
        id(completion): advantage
        for part, credits in found
        for completion, advantage in zip(part.completions, credits, strict=True)
        if advantage is not None
    }
    return [given.get(id(completion)) for completion in batch.completions]
