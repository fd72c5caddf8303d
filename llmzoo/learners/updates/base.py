"""What a learner hands the engine: something that changes weights, and can be saved and resumed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from llmzoo.policies.base import Policy
from llmzoo.records import Batch


class Updater(Protocol):
    """Changes the weights of the policies that learn; holds all the state that outlives a batch.

    A checkpoint keeps the policies' weights itself. Everything else (optimisers, critics,
    references, running means) is the updater's to ``save`` and ``load``: safetensors and JSON.
    """

    def players(self) -> Mapping[str, Policy]:
        """Who sits in each seat while the next batch is played."""
        ...

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        """Learn from a batch; ``seed`` fixes all chance in it. Returns metrics.

        Raises :class:`llmzoo.errors.DivergedError` when a loss or a gradient is not finite; the
        weights are then as they were before that step.
        """
        ...

    def credits(self, batch: Batch) -> list[float | None]:
        """The advantage of each of ``batch.completions`` in the update that has just learned from it.

        It is what the loss was given, after every normalisation and filter; the mean over an
        answer's tokens where each has its own. None for an answer that was not trained on, and of
        learners that have no advantages.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the state into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Take up the state that :meth:`save` wrote."""
        ...
