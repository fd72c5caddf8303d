"""Frozen models that an update compares policies with, such as the starting policies of ``kl``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import CheckpointError
from llmzoo.models.tensor_io import hash_weights
from llmzoo.policies.transformers import TransformersPolicy


class FrozenWeights:
    """Weights that are not saved, so a resumed run must have the same ones.

    ``weights``: by name. ``file``: the checkpoint file with their hashes. ``remedy``: the error message
    for weights that differ, which follows their name.
    """

    def __init__(self, weights: Mapping[str, Iterable[Tensor]], file: str, remedy: str):
        self._hashes = {name: hash_weights(own) for name, own in weights.items()}
        self._file, self._remedy = file, remedy

    def save(self, folder: Path) -> None:
        """Write the hashes."""
        if self._hashes and ranks.rank() == 0:
            (folder / self._file).write_text(json.dumps(self._hashes))

    def load(self, folder: Path) -> None:
        """Raises :class:`CheckpointError` if the run started with other weights."""
        if not self._hashes:
            return
        saved = json.loads((folder / self._file).read_text())
        for name, own in self._hashes.items():
            if saved[name] != own:
                raise CheckpointError(f"{name!r} {self._remedy}")


class StartingPolicies(FrozenWeights):
    """The references of the option ``kl``: a frozen copy of each of ``policies``, by name."""

    def __init__(self, policies: Mapping[str, TransformersPolicy]):
        self._copies = {name: policy.reference() for name, policy in policies.items()}
        super().__init__(
            {name: policy.parameters() for name, policy in policies.items()},
            "starts.json",
            "has other starting weights than this run had, and kl compares with these: resume with the "
            "model that the run started from",
        )

    def get(self, name: str) -> TransformersPolicy | None:
        """The copy of a policy, or None."""
        return self._copies.get(name)
