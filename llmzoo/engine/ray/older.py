"""Weights of some updates ago, with which the batches in flight are played: a part of a checkpoint.

The file of those one update old is that of :class:`llmzoo.engine.twins.Twins`; of older ones there
is one file for each update.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from llmzoo.engine.ray.parcels import Bytes, tensors_packed, tensors_unpacked
from llmzoo.engine.ray.weights import Learning, changing
from llmzoo.errors import CheckpointError


def save(folder: Path, learning: Learning, versions: Sequence[Sequence[Bytes]]) -> None:
    """Write versions of the weights that play, the oldest first, each of all update workers."""
    for age, version in enumerate(reversed(versions), start=1):
        tensors: dict[str, Tensor] = {}
        for parcel in version:
            tensors |= tensors_unpacked(parcel)[0]
        numbered = {f"{n:06d}": tensors[key] for n, key in enumerate(_keys(learning))}
        save_file(numbered, folder / _file(age))


def load(folder: Path, learning: Learning, max_off_policy_steps: int) -> list[Bytes]:
    """The versions that are at most ``max_off_policy_steps`` updates old, the oldest first.

    Raises :class:`CheckpointError` where none is there, or it is of another model.
    """
    found = []
    for age in range(max_off_policy_steps, 0, -1):
        path = folder / _file(age)
        if path.exists():
            saved = load_file(path)
            keys = _keys(learning)
            if len(saved) != len(keys):
                raise CheckpointError(f"{path} holds the weights of another model")
            tensors = {key: saved[f"{n:06d}"] for n, key in enumerate(keys)}
            found.append(tensors_packed(tensors, _NOTE))
    if max_off_policy_steps and not found:
        raise CheckpointError(
            f"{folder} lacks {_file(1)}: it is of a run with max_off_policy_steps=0"
        )
    return found


_NOTE = '{"bare": []}'


def _file(age: int) -> str:
    return "ahead.safetensors" if age == 1 else f"ahead_{age}.safetensors"


def _keys(learning: Learning) -> list[str]:
    """``policy/weight`` in the order of the models' weights."""
    keys = []
    for model in {id(policy.model): policy.model for policy in learning.values()}.values():
        names = {
            id(weight): f"{name}/{weight_name}"
            for name, policy in learning.items()
            if policy.model is model
            for weight_name, weight in changing(policy).items()
        }
        keys += [names[id(weight)] for weight in model.parameters() if id(weight) in names]
    return keys
