"""What updaters by policy gradient share: an optimiser for each policy, and where each started."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llmzoo.errors import CheckpointError
from llmzoo.learners.updates.credits import credits_of
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.surrogate import Credited, SurrogateConfig
from llmzoo.parallel import ranks
from llmzoo.parallel.sharding import whole
from llmzoo.policies import stored
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch

_STARTS = "starts.json"


class PolicyGradientUpdater:
    """Holds an optimiser a policy and, under a KL penalty, the policy as it was at the start.

    The starting policy is not saved: a resumed run is built from the same model, and refused where
    its weights are others.

    ``used``: what the last update was given to learn from, for :meth:`credits`. A subclass sets it.
    """

    def __init__(
        self,
        config: SurrogateConfig,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        self.policies = dict(policies)
        self.seats = dict(seats)
        total = max(1, total_steps * config.epochs * config.minibatches)
        self.optimizers = {
            name: Optimizer.of(policy, config, total=total, name=name)
            for name, policy in self.policies.items()
        }
        with_kl = self.policies if config.kl else {}
        self.references = {name: policy.reference() for name, policy in with_kl.items()}
        self.starts = {name: digest(policy.parameters()) for name, policy in with_kl.items()}
        self.used: list[Credited] = []

    def players(self) -> Mapping[str, Policy]:
        return self.seats

    def credits(self, batch: Batch) -> list[float | None]:
        """The advantage of each of ``batch.completions`` in the last update."""
        return credits_of(batch, self.used)

    def save(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            stored.save(optimizer.state(), folder, f"{name}.optimizer")
        if self.starts and ranks.rank() == 0:
            (folder / _STARTS).write_text(json.dumps(self.starts))

    def load(self, folder: Path) -> None:
        """Raises :class:`CheckpointError` where the run started from other weights than this one."""
        if self.starts:
            saved = json.loads((folder / _STARTS).read_text())
            for name, start in self.starts.items():
                if saved[name] != start:
                    raise CheckpointError(
                        f"kl compares {name!r} with the weights that the run started from, and "
                        "these are others: resume with the same model, not yet trained"
                    )
        for name, optimizer in self.optimizers.items():
            optimizer.restore(stored.load(folder, f"{name}.optimizer"))


def named(name: str, found: Mapping[str, Any], among: Sized) -> dict[str, Any]:
    """One's metrics, with its name before each where it is one of several."""
    return {key if len(among) == 1 else f"{name}/{key}": value for key, value in found.items()}


def digest(weights: Iterable[Tensor]) -> str:
    """A hash of weights, in their order: any other bit gives another."""
    found = hashlib.blake2b(digest_size=16)
    for tensor in weights:
        found.update(
            whole(tensor.detach()).cpu().contiguous().flatten().view(torch.uint8).numpy().data
        )
    return found.hexdigest()
