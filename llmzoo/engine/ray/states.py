"""The states of update workers, and the files of a checkpoint: one from the other.

A state is files: those that the worker's updater saves, and the weights of its policies
(:func:`llmzoo.engine.ray.weights.file_of`), which a checkpoint has as folders of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from llmzoo.engine.ray import weights
from llmzoo.engine.ray.parcels import Bytes, Files, read_folder, tensors_packed, write_folder
from llmzoo.engine.ray.routing import merged_files
from llmzoo.policies import stored


def of_checkpoint(
    folder: Path, learning: weights.Learning, workers: Collection[str]
) -> dict[str, dict[str, Bytes]]:
    """The state of each update worker, by the name of its policy (``""``: all policies).

    ``learning``: the policies, with the checkpoint's weights in them.
    """
    files = read_folder(folder, without=[*learning, "state.json"])
    for name, policy in learning.items():
        own = tensors_packed(weights.changing(policy))
        files[f"{weights.file_of(name)}.safetensors"] = own
    return {name: _of_policy(files, name, learning) if name else files for name in workers}


def to_checkpoint(states: Iterable[Files], policies: Collection[str]) -> dict[str, Bytes]:
    """The updaters' files of all states, as one updater for all policies would have saved them."""
    return merged_files([_without_weights(state, policies) for state in states])


def take_weights(states: Iterable[Files], learning: weights.Learning) -> None:
    """Put the weights of all states into the policies."""
    with TemporaryDirectory(prefix="llmzoo-") as name:
        folder = Path(name)
        for state in states:
            others = _without_weights(state, learning)
            write_folder({p: data for p, data in state.items() if p not in others}, folder)
        for policy_name, policy in learning.items():
            weights.put(policy, stored.load(folder, weights.file_of(policy_name)))


def _without_weights(files: Files, policies: Collection[str]) -> dict[str, Bytes]:
    own = tuple(f"{weights.file_of(name)}{suffix}" for name in policies for suffix in (".", "-"))
    return {path: data for path, data in files.items() if not path.startswith(own)}


def _of_policy(files: Files, name: str, policies: Collection[str]) -> dict[str, Bytes]:
    """The files that one policy's updater may read: not those named after the others."""
    others = tuple(f"{other}." for other in policies if other != name)
    return {
        path: data
        for path, data in files.items()
        if path.startswith(f"{name}.") or not path.startswith(others)
    }
