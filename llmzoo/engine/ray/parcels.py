"""Files and named tensors as one array of bytes each, which Ray's object store shares uncopied."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

Bytes = NDArray[np.uint8]
Files = Mapping[str, Bytes]  # the content of each file by its path in a folder

_SIZE = 8  # bytes of the number that says how long the head is, as in safetensors
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}  # of weights


def nothing() -> Bytes:
    """In the place of an array that there is none of."""
    return np.zeros(0, dtype=np.uint8)


def packed(files: Files) -> Bytes:
    """Files as one array: the head's length, the head (JSON: path and size of each), contents."""
    head = json.dumps([[path, len(data)] for path, data in files.items()]).encode()
    size = np.frombuffer(len(head).to_bytes(_SIZE, "little"), dtype=np.uint8)
    return np.concatenate([size, np.frombuffer(head, dtype=np.uint8), *files.values()])


def unpacked(parcel: Bytes) -> dict[str, Bytes]:
    """The files that :func:`packed` packed; views into the array."""
    if not len(parcel):
        return {}
    start = _SIZE + int.from_bytes(parcel[:_SIZE].tobytes(), "little")
    files: dict[str, Bytes] = {}
    for path, size in json.loads(parcel[_SIZE:start].tobytes()):
        files[path] = parcel[start : start + size]
        start += size
    return files


def read_folder(folder: Path, *, without: Collection[str] = ()) -> dict[str, Bytes]:
    """All files in a folder and those in it, in the order of their paths.

    ``without``: names of files and folders that are left out.
    """
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in without
    )
    return {str(p.relative_to(folder)): np.fromfile(p, dtype=np.uint8) for p in paths}


def write_folder(files: Files, folder: Path) -> None:
    """Write files into a folder that exists."""
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data.tofile(file)


def tensors_packed(tensors: Mapping[str, Tensor], note: str = "") -> Bytes:
    """Floats in the form of a safetensors file; ``note`` goes into its metadata."""
    found = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return np.frombuffer(save(found, metadata={"note": note}), dtype=np.uint8)


def tensors_unpacked(parcel: Bytes) -> tuple[dict[str, Tensor], str]:
    """The tensors, as views into the array that must not be written to, and the note."""
    start = _SIZE + int.from_bytes(parcel[:_SIZE].tobytes(), "little")
    head: dict[str, Any] = json.loads(parcel[_SIZE:start].tobytes())
    note = str(head.pop("__metadata__")["note"])
    return dict(_views(parcel, start, head)), note


def _views(parcel: Bytes, start: int, head: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # the store's memory is read-only, as it should
        for name, entry in head.items():
            first, last = (start + at for at in entry["data_offsets"])
            dtype = _DTYPES[entry["dtype"]]
            if first == last:
                yield name, torch.empty(entry["shape"], dtype=dtype)
            else:
                flat = torch.from_numpy(parcel[first:last]).view(dtype)
                yield name, flat.view(entry["shape"])
