"""The processes of one run: which of them this is, and what they tell one another.

``torchrun`` and ``accelerate launch`` start the same program several times; each of these processes
is a rank. All of them know the same: what one has played is told to the others, every rank
takes the same decisions, and what they divide is only the work of playing and of the passes over a
batch. So a run is the same on any number of ranks, but for the order of floating-point sums.

What travels is bytes, JSON and tensors; never pickle, which ``torch.distributed`` uses for objects.
A process that nobody has launched so is rank 0 of 1, and nothing here costs it anything: torch is
not even imported.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from llmzoo.errors import ConfigError, FirstRankError, LlmzooError

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")

_BUCKET = 2**24  # numbers that are summed in one call: 64 MiB of float32


@dataclass(frozen=True, slots=True)
class _Here:
    rank: int = 0
    world: int = 1


_here = _Here()


@contextmanager
def joined() -> Iterator[None]:
    """Within this context a launched process is one of its run's ranks; any other stays alone.

    A process group that exists already is used as it is. One that is made here lasts until the
    process ends: what it has divided goes on, and processes cannot find one another twice. Raises
    :class:`ConfigError` for a launcher that has left out what the ranks need to find one another.
    """
    global _here
    if _here.world > 1 or launched() < 2:
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
    _here = _Here(distributed.get_rank(), distributed.get_world_size())
    try:
        yield
    finally:
        _here = _Here()


def launched() -> int:
    """How many processes a launcher has started, joined or not."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that prints, as its launcher numbers it; joined or not."""
    return launched() < 2 or os.environ.get("RANK", "0") == "0"


def rank() -> int:
    """The number of this process, from 0."""
    return _here.rank


def world() -> int:
    """How many there are."""
    return _here.world


def share(count: int) -> range:
    """Which of ``count`` things are this rank's: neighbours, as many as any other's or one more."""
    return range(count * rank() // world(), count * (rank() + 1) // world())


def gather(data: bytes) -> list[bytes]:
    """What every rank gave, in their order."""
    if world() == 1:
        return [data]
    import torch
    from torch import distributed

    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(world())]
    distributed.all_gather(sizes, torch.tensor([len(data)]))
    longest = max(int(size) for size in sizes)
    own = torch.zeros(max(1, longest), dtype=torch.uint8)
    own[: len(data)] = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)]
    padded = [torch.empty_like(own) for _ in sizes]
    distributed.all_gather(padded, own)
    return [other[: int(size)].numpy().tobytes() for other, size in zip(padded, sizes, strict=True)]


def meet() -> None:
    """Wait until every rank has come here."""
    gather(b"")


def told(value: Any) -> Any:
    """Rank 0's value, on every rank; one that JSON has a form for."""
    if world() == 1:
        return value
    return json.loads(gather(json.dumps(value).encode() if rank() == 0 else b"")[0])


def by_first(act: Callable[[], None]) -> None:
    """Have rank 0 do something; where it raises on purpose, so does every rank.

    Rank 0 raises its own error, the others :class:`FirstRankError`.
    """
    if world() == 1:
        act()
        return
    error: LlmzooError | None = None
    if rank() == 0:
        try:
            act()
        except LlmzooError as raised:
            error = raised
    message = told(None if error is None else str(error))
    if error is not None:
        raise error
    if message is not None:
        raise FirstRankError(message)


def summed(numbers: Mapping[str, float]) -> dict[str, float]:
    """Sums over the ranks, by name; a name that a rank lacks counts 0 there."""
    if world() == 1:
        return dict(numbers)
    sums: dict[str, float] = {}
    for data in gather(json.dumps(dict(numbers)).encode()):
        for name, number in json.loads(data).items():
            sums[name] = sums.get(name, 0.0) + number
    return sums


def spread(
    items: Sequence[Item], compute: Callable[[Sequence[Item]], Sequence[Tensor]]
) -> list[Tensor]:
    """A float32 vector for each item, on the CPU; each rank computes those of its share.

    ``compute`` is not called for no items.
    """
    import torch
    from safetensors.torch import load, save

    mine = [items[i] for i in share(len(items))]
    own = [t.detach().float().cpu().contiguous() for t in (compute(mine) if mine else [])]
    if world() == 1:
        return own
    sent = {"lengths": torch.tensor([len(t) for t in own])}
    if own:
        sent["numbers"] = torch.cat(own)
    gathered: list[Tensor] = []
    for data in gather(save(sent)):
        part = load(data)
        if "numbers" in part:
            gathered += part["numbers"].split(part["lengths"].tolist())
    return gathered


def sum_gradients(weights: Sequence[Tensor]) -> None:
    """Add up the gradients of weights that every rank holds whole, in place.

    A weight has one afterwards where it has one on any rank.
    """
    if world() == 1:
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


def same_weights(weights: Sequence[Tensor]) -> None:
    """Give every rank the weights of rank 0, in place: where they were drawn at random."""
    if world() == 1:
        return
    import torch
    from torch import distributed

    with torch.no_grad():
        for weight in weights:
            distributed.broadcast(weight, 0)


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Tensors of one type and device together, up to a size."""
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
