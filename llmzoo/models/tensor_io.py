"""Named tensors in safetensors files, including tensors that are divided over ranks.

Rank 0 writes whole tensors to one file, ``NAME.safetensors``. If some are divided, each rank
collects and writes every n-th tensor, to files like ``NAME-00001-of-00002.safetensors`` with the
index ``NAME.safetensors.index.json``, which transformers reads too. Files can be loaded with any
number of ranks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from llmzoo import files as plain_files
from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import full_tensor, is_dtensor


def save(
    tensors: Mapping[str, Tensor],
    folder: Path,
    name: str,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors to an existing folder that all ranks share. Names are the same on every rank."""
    if not any(map(is_dtensor, tensors.values())):
        if ranks.rank() == 0:
            contiguous = {key: tensor.contiguous() for key, tensor in tensors.items()}
            save_file(contiguous, folder / f"{name}.safetensors", metadata=_plain_dict(metadata))
        return
    files = [_shard_file_name(name, part) for part in range(ranks.world_size())]
    own: dict[str, Tensor] = {}
    index: dict[str, str] = {}
    size = 0
    for number, (key, tensor) in enumerate(tensors.items()):
        keeper = number % ranks.world_size()
        full = full_tensor(tensor).cpu()  # collective: every rank calls it, one keeps the result
        index[key] = files[keeper]
        size += full.nbytes
        if keeper == ranks.rank():
            own[key] = full.contiguous()
    save_file(own, folder / files[ranks.rank()], metadata=_plain_dict(metadata))
    if ranks.rank() == 0:
        text = json.dumps({"metadata": {"total_size": size}, "weight_map": index})
        (folder / f"{name}.safetensors.index.json").write_text(text)
    ranks.barrier()


def load(folder: Path, name: str) -> Mapping[str, Tensor]:
    """The whole tensors that :func:`save` wrote. Each is read on access.

    Raises ``FileNotFoundError`` if there are none.
    """
    index = folder / f"{name}.safetensors.index.json"
    plain_files.check_weight_indexes(folder)
    if index.exists():
        files = set(json.loads(index.read_text())["weight_map"].values())
    elif (folder / f"{name}.safetensors").exists():
        files = {f"{name}.safetensors"}
    else:
        raise FileNotFoundError(f"{folder} holds no {name}.safetensors")
    return _LazyTensors([folder / file for file in sorted(files)])


class _LazyTensors(Mapping[str, Tensor]):
    def __init__(self, files: list[Path]):
        opened = [safe_open(str(file), framework="pt") for file in files]
        self._file_of = {key: file for file in opened for key in file.keys()}  # noqa: SIM118

    def __getitem__(self, key: str) -> Tensor:
        tensor: Tensor = self._file_of[key].get_tensor(key)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)


def _shard_file_name(name: str, part: int) -> str:
    return f"{name}-{part + 1:05d}-of-{ranks.world_size():05d}.safetensors"


def _plain_dict(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if metadata is None else dict(metadata)


def hash_weights(weights: Iterable[Tensor]) -> str:
    """A hash of all bits of the weights, in order. All ranks must call this together."""
    hasher = hashlib.blake2b(digest_size=16)
    for tensor in weights:
        hasher.update(
            full_tensor(tensor.detach()).cpu().contiguous().flatten().view(torch.uint8).numpy().data
        )
    return hasher.hexdigest()
