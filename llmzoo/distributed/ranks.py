"""The processes (ranks) of one run, and the communication between them.

``torchrun`` and ``accelerate launch`` start the same program several times; each process is a rank.
All ranks have the same information and take the same decisions. They divide only the work of
rollouts and of the passes over a batch. So a run gives the same result on any number of ranks, up to
the order of floating-point sums.

Ranks exchange bytes, JSON and tensors, never pickles, which ``torch.distributed`` uses for objects.
A process without a launcher is rank 0 of 1. It pays nothing for this module, which does not even
import torch then.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from llmzoo.errors import ConfigError, LlmzooError, RankZeroError

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")

_BUCKET = 2**24  # numbers summed in one call: 64 MiB of float32


@dataclass(frozen=True, slots=True)
class _Placement:
    rank: int = 0
    world: int = 1


_placement = _Placement()


@contextmanager
def process_group() -> Iterator[None]:
    """Within this context a launched process is a rank of its run. Other processes stay alone.

    An existing process group is used. A new one lasts until the process ends, because sharded models
    still need it and processes cannot rendezvous twice. Raises :class:`ConfigError` if the launcher
    has not set the variables for the rendezvous.
    """
    global _placement
    if _placement.world > 1 or launched_process_count() < 2:
        yield
        return
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        missing = [n for n in ("RANK", "MASTER_ADDR", "MASTER_PORT") if n not in os.environ]
        if missing:
            raise ConfigError(
                f"WORLD_SIZE is set, but {', '.join(missing)} is not: start the run with torchrun "
                "or accelerate launch, or unset WORLD_SIZE"
            )
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        )
        atexit.register(distributed.destroy_process_group)
    _placement = _Placement(distributed.get_rank(), distributed.get_world_size())
    try:
        yield
    finally:
        _placement = _Placement()


def launched_process_count() -> int:
    """The number of processes that the launcher has started, joined or not."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first_process() -> bool:
    """Whether this process is the launcher's first, which prints; joined or not."""
    return launched_process_count() < 2 or os.environ.get("RANK", "0") == "0"


def rank() -> int:
    """The number of this process, from 0."""
    return _placement.rank


def world_size() -> int:
    """The number of ranks."""
    return _placement.world


def shard_range(count: int) -> range:
    """This rank's consecutive share of ``count`` items. Shares differ by at most one item."""
    return range(count * rank() // world_size(), count * (rank() + 1) // world_size())


def all_gather_bytes(data: bytes) -> list[bytes]:
    """The data of every rank, in the order of the ranks."""
    if world_size() == 1:
        return [data]
    import torch
    from torch import distributed

    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(world_size())]
    distributed.all_gather(sizes, torch.tensor([len(data)]))
    longest = max(int(size) for size in sizes)
    own = torch.zeros(max(1, longest), dtype=torch.uint8)
    own[: len(data)] = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]
    padded = [torch.empty_like(own) for _ in sizes]
    distributed.all_gather(padded, own)
    return [other[: int(size)].numpy().tobytes() for other, size in zip(padded, sizes, strict=True)]


def barrier() -> None:
    """Wait until every rank has called this."""
    all_gather_bytes(b"")


def broadcast(value: Any) -> Any:
    """Rank 0's value, on every rank. It must have a JSON form."""
    if world_size() == 1:
        return value
    return json.loads(all_gather_bytes(json.dumps(value).encode() if rank() == 0 else b"")[0])


def on_rank_zero(act: Callable[[], None]) -> None:
    """Call ``act`` on rank 0. If it raises an error of llmzoo's, every rank raises.

    Rank 0 raises that error, the others :class:`RankZeroError`.
    """
    if world_size() == 1:
        act()
        return
    error: LlmzooError | None = None
    if rank() == 0:
        try:
            act()
        except LlmzooError as raised:
            error = raised
    message = broadcast(None if error is None else str(error))
    if error is not None:
        raise error
    if message is not None:
        raise RankZeroError(message)


def all_reduce_sum(numbers: Mapping[str, float]) -> dict[str, float]:
    """Sums over the ranks, by name. A missing name counts as 0."""
    if world_size() == 1:
        return dict(numbers)
    sums: dict[str, float] = {}
    for data in all_gather_bytes(json.dumps(dict(numbers)).encode()):
        for name, number in json.loads(data).items():
            sums[name] = sums.get(name, 0.0) + number
    return sums


def map_sharded(
    items: Sequence[Item], compute: Callable[[Sequence[Item]], Sequence[Tensor]]
) -> list[Tensor]:
    """A float32 vector on the CPU for each item. Each rank computes those of its share.

    ``compute`` is never called without items.
    """
    import torch
    from safetensors.torch import load, save

    mine = [items[i] for i in shard_range(len(items))]
    own = [t.detach().float().cpu().contiguous() for t in (compute(mine) if mine else [])]
    if world_size() == 1:
        return own
    sent = {"lengths": torch.tensor([len(t) for t in own])}
    if own:
        sent["numbers"] = torch.cat(own)
    gathered: list[Tensor] = []
    for data in all_gather_bytes(save(sent)):
        part = load(data)
        if "numbers" in part:
            gathered += part["numbers"].split(part["lengths"].tolist())
    return gathered


def all_reduce_gradients(weights: Sequence[Tensor]) -> None:
    """Sum the gradients of weights that every rank holds whole over the ranks, in place.

    A weight that has a gradient on any rank has one on all ranks afterwards.
    """
    if world_size() == 1:
        return
    import torch
    from torch import distributed

    if not weights:
        return
    there = torch.tensor([int(w.grad is not None) for w in weights])
    distributed.all_reduce(there)
    grads = []
    for weight, count in zip(weights, there.tolist(), strict=True):
        if count:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
            grads.append(weight.grad)
    for bucket in _buckets(grads):
        flat = torch.cat([grad.flatten() for grad in bucket])
        distributed.all_reduce(flat)
        for grad, total in zip(bucket, flat.split([g.numel() for g in bucket]), strict=True):
            grad.copy_(total.view_as(grad))


def broadcast_weights(weights: Sequence[Tensor]) -> None:
    """Copy rank 0's weights to every rank, in place; ranks draw random weights differently."""
    if world_size() == 1:
        return
    import torch
    from torch import distributed

    with torch.no_grad():
        for weight in weights:
            distributed.broadcast(weight, 0)


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Group tensors of the same type and device, up to ``_BUCKET`` numbers per group."""
    kinds: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    for alike in kinds.values():
        bucket: list[Tensor] = []
        size = 0
        for tensor in alike:
            if bucket and size + tensor.numel() > _BUCKET:
                yield bucket
                bucket, size = [], 0
            bucket.append(tensor)
            size += tensor.numel()
        yield bucket
