"""Weights and other state of workers, packed into single arrays that Ray's object store shares."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

from llmzoo.distributed.sharding import full_tensor
from llmzoo.engine.snapshot import Learning, Snapshot, load_tensors, trainable_weights
from llmzoo.models import tensor_io
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy

Bytes = NDArray[np.uint8]
Files = Mapping[str, Bytes]  # the content of each file by its path in a folder

_HEADER_LENGTH_BYTES = 8  # bytes that give the length of the header, as in safetensors
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}


def empty_array() -> Bytes:
    """An empty array."""
    return np.zeros(0, dtype=np.uint8)


def pack_files(files: Files) -> Bytes:
    """Files as one array: the header's length, the header (JSON: paths and sizes), the contents."""
    head = json.dumps([[path, len(data)] for path, data in files.items()]).encode()
    size = np.frombuffer(len(head).to_bytes(_HEADER_LENGTH_BYTES, "little"), dtype=np.uint8)
    return np.concatenate([size, np.frombuffer(head, dtype=np.uint8), *files.values()])


def unpack_files(array: Bytes) -> dict[str, Bytes]:
    """The files that :func:`pack_files` packed, as views into the array."""
    if not len(array):
        return {}
    start, head = _read_header(array)
    files: dict[str, Bytes] = {}
    for path, size in head:
        files[path] = array[start : start + size]
        start += size
    return files


def _read_header(array: Bytes) -> tuple[int, Any]:
    """Where the contents begin, and the header."""
    start = _HEADER_LENGTH_BYTES + int.from_bytes(array[:_HEADER_LENGTH_BYTES].tobytes(), "little")
    return start, json.loads(array[_HEADER_LENGTH_BYTES:start].tobytes())


def read_folder(folder: Path, *, without: Collection[str] = ()) -> dict[str, Bytes]:
    """All files below a folder in the order of their paths, except files and folders in ``without``."""
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in without
    )
    return {str(p.relative_to(folder)): np.fromfile(p, dtype=np.uint8) for p in paths}


def write_folder(files: Files, folder: Path) -> None:
    """Write files into an existing folder."""
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data.tofile(file)


def pack_tensors(tensors: Mapping[str, Tensor], note: str = "") -> Bytes:
    """Float tensors in the form of a safetensors file with ``note`` in its metadata."""
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return np.frombuffer(save(on_cpu, metadata={"note": note}), dtype=np.uint8)


def unpack_tensors(array: Bytes) -> tuple[dict[str, Tensor], str]:
    """The tensors, as read-only views into the array, and the note."""
    start, head = _read_header(array)
    note = str(head.pop("__metadata__")["note"])
    return dict(_tensor_views(array, start, head)), note


def _tensor_views(
    array: Bytes, start: int, head: Mapping[str, Any]
) -> Iterator[tuple[str, Tensor]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the object store's memory is read-only
        for name, entry in head.items():
            first, last = (start + at for at in entry["data_offsets"])
            dtype = _DTYPES[entry["dtype"]]
            if first == last:
                yield name, torch.empty(entry["shape"], dtype=dtype)
            else:
                flat = torch.from_numpy(array[first:last]).view(dtype)
                yield name, flat.view(entry["shape"])


def pack_snapshot(snapshot: Snapshot, base_only: Sequence[str] = ()) -> Bytes:
    """A snapshot as one array; ``base_only``: policies that play with the base model of their adapter."""
    return pack_tensors(snapshot.tensors, json.dumps({"base_only": list(base_only)}))


def unpack_snapshot(arrays: Iterable[Bytes]) -> Snapshot:
    """One snapshot of the weights that several update workers packed."""
    tensors: dict[str, Tensor] = {}
    for array in arrays:
        tensors |= unpack_tensors(array)[0]
    return Snapshot(tensors)


def pack_rollout_weights(learning: Learning, rollout_policies: Mapping[str, Policy]) -> Bytes:
    """The weights for rollouts. ``rollout_policies``: those that play, by the name of the learning policy.

    Policies that are not models are left out. All ranks call this and get the same array.
    """
    tensors: dict[str, Tensor] = {}
    base_only = []
    for name, policy in learning.items():
        rollout_policy = rollout_policies[name]
        if not isinstance(rollout_policy, TransformersPolicy):
            continue
        if policy.adapter is not None and rollout_policy.adapter is None:
            base_only.append(name)
            continue
        for weight, tensor in _weights_by_policy_name(policy, rollout_policy).items():
            tensors[f"{name}/{weight}"] = full_tensor(tensor.detach())
    return pack_snapshot(Snapshot(tensors), base_only)


def load_rollout_weights(learning: Learning, array: Bytes) -> dict[str, TransformersPolicy]:
    """Load what :func:`pack_rollout_weights` packed; returns the policies that play, by name.

    Each is the learning policy itself with these weights, or the base model of its adapter.
    """
    tensors, note = unpack_tensors(array)
    Snapshot(tensors).copy_into(learning)
    rollout_policies = {
        name: learning[name].with_adapter(None) for name in json.loads(note)["base_only"]
    }
    return rollout_policies | {
        name: learning[name] for name in {k.rpartition("/")[0] for k in tensors}
    }


def _weights_by_policy_name(
    policy: TransformersPolicy, rollout_policy: TransformersPolicy
) -> dict[str, Tensor]:
    """The weights of ``rollout_policy``, under the names that they have in ``policy``."""
    if rollout_policy.adapter == policy.adapter and rollout_policy.model is policy.model:
        return dict(trainable_weights(policy))
    tensors: dict[str, Tensor] = {}
    for name in trainable_weights(policy):
        own = name
        if policy.adapter is not None:
            parts = (rollout_policy.adapter if p == policy.adapter else p for p in name.split("."))
            own = ".".join(str(part) for part in parts)
        tensors[name] = rollout_policy.model.get_parameter(own)
    return tensors


# The state of an update worker is files: those that its updater saves, and the weights of its
# policies, which a checkpoint has as folders of their own.


def weights_file_name(name: str) -> str:
    """The file of a state that has the weights of the policy of this name."""
    return f"{name}.weights"


def read_checkpoint_states(
    folder: Path, learning: Learning, workers: Collection[str]
) -> dict[str, dict[str, Bytes]]:
    """The state of each update worker, by the name of its policy (``""``: all policies).

    ``learning``: the policies, with the checkpoint's weights in them.
    """
    files = read_folder(folder, without=[*learning, "state.json"])
    for name, policy in learning.items():
        files[f"{weights_file_name(name)}.safetensors"] = pack_tensors(trainable_weights(policy))
    return {name: _files_for_policy(files, name, learning) if name else files for name in workers}


def collect_updater_files(states: Iterable[Files], policies: Collection[str]) -> dict[str, Bytes]:
    """The updaters' files of all states, as one updater for all policies would have saved them."""
    return merge_files([_without_weights(state, policies) for state in states])


def load_state_weights(states: Iterable[Files], learning: Learning) -> None:
    """Load the weights of all states into the policies."""
    with TemporaryDirectory(prefix="llmzoo-") as name:
        folder = Path(name)
        for state in states:
            others = _without_weights(state, learning)
            write_folder({p: data for p, data in state.items() if p not in others}, folder)
        for policy_name, policy in learning.items():
            load_tensors(policy, tensor_io.load(folder, weights_file_name(policy_name)))


def merge_files(folders: Sequence[Files]) -> dict[str, Bytes]:
    """The files of several updaters as those of one.

    Files of one policy carry its name. A file for all policies is a JSON mapping. Each updater has
    its own part of it, or all have the same.
    """
    merged: dict[str, Bytes] = {}
    for files in folders:
        for path, data in files.items():
            before = merged.get(path)
            merged[path] = data if before is None else _merge_json(path, before, data)
    return merged


def _merge_json(path: str, one: Bytes, other: Bytes) -> Bytes:
    if np.array_equal(one, other):
        return one
    both = [json.loads(data.tobytes()) for data in (one, other)]
    shared = both[0].keys() & both[1].keys()
    assert all(both[0][key] == both[1][key] for key in shared), f"two updaters differ in {path}"
    return np.frombuffer(json.dumps(both[0] | both[1]).encode(), dtype=np.uint8)


def _without_weights(files: Files, policies: Collection[str]) -> dict[str, Bytes]:
    own = tuple(f"{weights_file_name(name)}{suffix}" for name in policies for suffix in (".", "-"))
    return {path: data for path, data in files.items() if not path.startswith(own)}


def _files_for_policy(files: Files, name: str, policies: Collection[str]) -> dict[str, Bytes]:
    """The files that one policy's updater may read: not those of other policies.

    ``NAME.json`` is for all policies, even if one is called NAME.
    """
    others = tuple(f"{other}." for other in policies if other != name)
    return {
        path: data
        for path, data in files.items()
        if path.startswith(f"{name}.")
        or not path.startswith(others)
        or path.removesuffix(".json") in policies
    }
