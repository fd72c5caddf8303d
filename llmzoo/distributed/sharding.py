"""Models divided over the ranks of a run: fully sharded data parallelism (FSDP2 of PyTorch).

Each rank holds a part of every weight, of its gradient and of its optimiser state. A layer's weights
are gathered when it runs and freed afterwards, so all ranks must run a sharded model equally often.
While ranks sample for different prompts, they cannot, so all weights stay gathered
(:func:`gather_weights`).

Adapters are small: they stay whole on every rank, and only their base is sharded.
Zhao et al., PyTorch FSDP (arXiv 2304.11277); the sharding by weight is that of ``fully_shard``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from types import MethodType
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor
from transformers.modeling_layers import GradientCheckpointingLayer

from llmzoo.distributed import ranks

Result = TypeVar("Result")


@cache
def _all_ranks_group() -> distributed.ProcessGroup:
    """A process group of all ranks, used only by sharded models.

    PyTorch's caches hold the group of a mesh until the process ends. If it were the ranks' own
    group, that group could not be destroyed before the interpreter shuts down, and one of its
    threads that frees a tensor then would abort the process (pytorch/pytorch#179291).
    """
    return distributed.new_group()


def shard(
    model: nn.Module, *, offload: bool = False, unsharded: Collection[nn.Parameter] = ()
) -> None:
    """Divide a model's weights over the ranks, in place. Its parameters are new objects afterwards.

    ``model``: a transformers model, with or without its output layer, equal on every rank.
    ``offload``: keep the parts in the CPU's memory, where the optimiser steps them too. ``unsharded``:
    parameters that stay undivided.
    """
    original_device = next(model.parameters()).device
    device = original_device.type
    options: dict[str, Any] = {
        "mesh": DeviceMesh.from_group(_all_ranks_group(), device),
        # sums of gradients are float32, whatever the weights are
        "mp_policy": MixedPrecisionPolicy(reduce_dtype=torch.float32),
        "offload_policy": CPUOffloadPolicy(pin_memory=device == "cuda")
        if offload
        else OffloadPolicy(),
        "ignored_params": set(unsharded),
    }
    layers = [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]
    for layer in layers:
        fully_shard(layer, reshard_after_forward=True, **options)
    fully_shard(model, reshard_after_forward=False, **options)
    for module in _fsdp_modules(model):
        # each rank's loss is its share of the sum, so gradients are added up, not averaged
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
        module.llmzoo_offload, module.llmzoo_device = offload, original_device
    root: Any = model
    # the layer that the backward pass gathers ahead; FSDP would infer it from earlier forward passes,
    # of which ranks that sampled fewer prompts had fewer
    for part, ahead in pairwise([model, *layers[::-1], model]):
        cast(FSDPModule, part).set_modules_to_backward_prefetch([cast(FSDPModule, ahead)])
    root.llmzoo_run = MethodType(_call_compute, root)
    register_fsdp_forward_method(root, "llmzoo_run")
    root.llmzoo_run(
        tuple
    )  # nothing, through the model: the first to run is taken for the outermost
    root.reshard()


def shard_like(model: nn.Module, like: nn.Module) -> None:
    """Divide a whole model in the same way as ``like``, if that is divided."""
    if is_sharded(like) and not is_sharded(model):
        shard(model, offload=next(_fsdp_modules(like)).llmzoo_offload)


def _call_compute(self: nn.Module, compute: Callable[[], Result]) -> Result:
    return compute()


def is_sharded(model: nn.Module) -> bool:
    """Whether a model, or one inside it, is divided over the ranks."""
    return _fsdp_root(model) is not None


def compute_device(model: Any) -> torch.device:
    """The device on which a model computes, even if its parts are offloaded to the CPU."""
    part = next(_fsdp_modules(model), None)
    return model.device if part is None else part.llmzoo_device


def run_with_weights(model: nn.Module, compute: Callable[[], Result]) -> Result:
    """Call ``compute``, which may use the model's weights and modules directly.

    The weights of a sharded model outside its layers are gathered meanwhile. ``compute`` must return
    a tensor or a tuple, so that FSDP sees every tensor through which gradients return.
    """
    root: Any = _fsdp_root(model)
    if root is None:
        return compute()
    result: Result = root.llmzoo_run(compute)
    return result


@contextmanager
def gather_weights(models: Iterable[nn.Module]) -> Iterator[None]:
    """Within this context every rank has all weights and can run the models on its own.

    All ranks enter and leave it together. Weights must not change inside.
    """
    roots = {id(root): root for root in map(_fsdp_root, models) if root is not None}
    for root in roots.values():
        for part in _fsdp_modules(root):
            part.set_reshard_after_forward(False, recurse=False)
            part.unshard()
    try:
        yield
    finally:
        for root in roots.values():
            for part in _fsdp_modules(root):
                part.set_reshard_after_forward(part is not root, recurse=False)
                part.reshard()


def copy_model(model: Any) -> Any:
    """A deep copy, sharded like the original.

    A sharded model is built from its configuration, and each rank copies its own part.
    """
    if next(_fsdp_modules(model), None) is None:
        return copy.deepcopy(model)
    weights = list(model.parameters())
    duplicate = build_unsharded(model)
    shard(duplicate, offload=next(_fsdp_modules(model)).llmzoo_offload)
    with torch.no_grad():
        for own, weight in zip(duplicate.parameters(), weights, strict=True):
            own.to_local().copy_(weight.to_local())
            own.requires_grad_(weight.requires_grad)
        for buffer, original in zip(duplicate.buffers(), model.buffers(), strict=True):
            buffer.copy_(original)
    return duplicate


def build_unsharded(model: Any) -> Any:
    """A whole model with a sharded model's configuration and random weights."""
    kind: Any = type(model).__bases__[1] if isinstance(model, FSDPModule) else type(model)
    with torch.random.fork_rng([]):
        fresh = kind._from_config(model.config, dtype=next(model.parameters()).dtype)
    return fresh.to(compute_device(model)).train(model.training)


def named_weights(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights and buffers by name. Tied ones have one name."""
    kept = model.state_dict(keep_vars=True)
    names: dict[int, str] = {}
    for name, tensor in kept.items():
        names.setdefault(id(tensor), name)
    return {name: kept[name].detach() for name in names.values()}


@torch.no_grad()
def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load whole weights by name. Each rank of a sharded model takes its part.

    Raises ``ValueError`` at the first weight that is missing or has another shape.
    """
    own = named_weights(model)
    if set(own) - set(weights):
        raise ValueError(f"the weights {sorted(set(own) - set(weights))} are missing")
    for name, tensor in own.items():
        weight = weights[name]
        if weight.shape != tensor.shape:
            raise ValueError(f"the weight {name} has another shape: {tuple(weight.shape)}")
        local_shard(tensor).copy_(local_shard(shard_tensor_like(weight, tensor)))


def full_tensor(tensor: Tensor) -> Tensor:
    """The whole tensor on every rank, if it is divided; else the tensor itself."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def is_dtensor(tensor: Tensor) -> bool:
    """Whether this rank holds only a part of a tensor."""
    return isinstance(tensor, DTensor)


def shard_tensor_like(tensor: Tensor, like: Tensor) -> Tensor:
    """This rank's part of a whole tensor, divided like ``like``; the tensor itself if that is whole."""
    if not isinstance(like, DTensor):
        return tensor
    part = -(
        -len(tensor) // ranks.world_size()
    )  # as torch.chunk divides; the last parts may be empty
    own = tensor[part * ranks.rank() : part * (ranks.rank() + 1)].to(like.to_local().device)
    return DTensor.from_local(
        own.clone(), like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    )


def local_shard(tensor: Tensor) -> Tensor:
    """The part of a tensor that this rank holds."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def clip_grad_norm(weights: Sequence[nn.Parameter], max_norm: float) -> float:
    """Clip the gradients in place to a norm of at most ``max_norm``. Returns the norm before.

    For weights that are sharded over ranks this is the norm of the whole gradient.
    """
    trained = [weight for weight in weights if weight.grad is not None]
    if not any(map(is_dtensor, trained)):
        return float(torch.nn.utils.clip_grad_norm_(trained, max_norm))
    squares = {"divided": 0.0, "whole": 0.0}
    for weight in trained:
        assert weight.grad is not None
        part = local_shard(weight.grad).double().square().sum().item()
        squares["divided" if is_dtensor(weight) else "whole"] += part
    norm = math.sqrt(
        ranks.all_reduce_sum({"squares": squares["divided"]})["squares"] + squares["whole"]
    )
    scale = min(1.0, max_norm / (norm + 1e-6))  # as clip_grad_norm_
    for weight in trained:
        assert weight.grad is not None
        local_shard(weight.grad).mul_(scale)
    return norm


def _fsdp_modules(model: nn.Module) -> Iterator[Any]:
    """The modules that are gathered and freed as a unit, the model itself first."""
    return (module for module in model.modules() if isinstance(module, FSDPModule))


def _fsdp_root(model: nn.Module) -> Any:
    """The sharded model: the model itself, or the one inside a ``PeftModel``; else None."""
    if isinstance(model, FSDPModule):
        return model
    inner: Any = model
    if "base_model" in model._modules:  # a PeftModel
        inner = inner.get_base_model()
        return inner if isinstance(inner, FSDPModule) else None
    return None
