"""What the option ``kl`` compares with: each policy as it was when the run started, frozen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import whole
from llmzoo.errors import CheckpointError
from llmzoo.policies.transformers import TransformersPolicy

_STARTS = "starts.json"


class StartingPolicies:
    """A frozen copy of each of ``policies``, by name.

    The copies are not saved. A resumed run starts from the same model, and is refused if the weights
    differ.
    """

    def __init__(self, policies: Mapping[str, TransformersPolicy]):
        self._copies = {name: policy.reference() for name, policy in policies.items()}
        self._starts = {name: digest(policy.parameters()) for name, policy in policies.items()}

    def get(self, name: str) -> TransformersPolicy | None:
        """The copy of a policy; None without one."""
        return self._copies.get(name)

    def save(self, folder: Path) -> None:
        """Write a hash of the starting weights."""
        if self._starts and ranks.rank() == 0:
            (folder / _STARTS).write_text(json.dumps(self._starts))

    def load(self, folder: Path) -> None:
        """Raises :class:`CheckpointError` if the run started from other weights."""
        if not self._starts:
            return
        saved = json.loads((folder / _STARTS).read_text())
        for name, start in self._starts.items():
            if saved[name] != start:
                raise CheckpointError(
                    f"kl compares {name!r} with the weights that the run started from, but "
                    "these differ: resume with the same model, before training"
                )


def digest(weights: Iterable[Tensor]) -> str:
    """A hash of all bits of the weights, in their order."""
    hasher = hashlib.blake2b(digest_size=16)
    for tensor in weights:
        hasher.update(
            whole(tensor.detach()).cpu().contiguous().flatten().view(torch.uint8).numpy().data
        )
    return hasher.hexdigest()
