"""Sets up a process before it computes: its memory allocator, and how models are divided among ranks."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from typing import Any, Literal

from transformers.conversion_mapping import get_checkpoint_conversion_mapping

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import shard
from llmzoo.errors import ConfigError
from llmzoo.models.lora import is_peft
from llmzoo.policies.transformers import TransformersPolicy

Parallel = Literal["auto", "ddp", "fsdp"]

# parameters of mallopt(3), from glibc's malloc.h
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_MALLOC_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for later tensors; returns whether it does now.

    By default it returns each large tensor to the kernel and fetches the memory again, page by page
    and zeroed. That costs up to 40% of the time of training on a CPU. With this setting the process
    holds its peak memory until it ends. Nothing changes if the user has set ``MALLOC_*``
    variables, or if the C library is not glibc.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in _MALLOC_VARIABLES):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    accepted = mallopt(_TRIM_THRESHOLD, 2**31 - 1) and mallopt(_TOP_PAD, 2**28)
    # glibc before 2.35 takes no more than 32 MiB
    return bool(accepted and (mallopt(_MMAP_THRESHOLD, 2**30) or mallopt(_MMAP_THRESHOLD, 2**25)))


def distribute(
    policies: Iterable[TransformersPolicy], parallel: Parallel, *, cpu_offload: bool = False
) -> None:
    """Replicate or shard the models of policies over the ranks of the run.

    Call it before optimisers or copies are made of the models. ``"ddp"``: every rank holds full models
    (distributed data parallel). ``"fsdp"``: each rank holds a shard of every weight, with
    ``cpu_offload`` in CPU memory. ``"auto"``: fsdp under ``accelerate launch --use_fsdp``,
    otherwise ddp. On one rank nothing is sharded.

    Raises :class:`ConfigError` for settings of accelerate that are not supported here.
    """
    _check_launcher()
    fsdp_launch = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    offload = cpu_offload or (
        parallel == "auto" and os.environ.get("FSDP_OFFLOAD_PARAMS", "false").lower() == "true"
    )
    sharded = parallel == "fsdp" or (parallel == "auto" and fsdp_launch)
    if cpu_offload and not sharded:
        raise ConfigError("cpu_offload requires parallel='fsdp'")
    if ranks.world_size() == 1:
        return
    models: dict[int, Any] = {id(policy.model): policy.model for policy in policies}
    for model in models.values():
        ranks.broadcast_weights(list(model.parameters()))
        if sharded and is_peft(model):
            adapters = [weight for weight in model.parameters() if weight.requires_grad]
            shard(model.get_base_model(), offload=offload, unsharded=adapters)
        elif sharded:
            if get_checkpoint_conversion_mapping(model.config.model_type):
                raise ConfigError(
                    f"{model.config.model_type} saves its weights in another layout than it trains, "
                    "so they cannot be sharded: use parallel='ddp', or policies='lora'"
                )
            shard(model, offload=offload)


def _check_launcher() -> None:
    if os.environ.get("ACCELERATE_USE_DEEPSPEED", "false").lower() == "true":
        raise ConfigError("DeepSpeed is not supported: configure accelerate with FSDP, or neither")
    precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if precision not in ("no", ""):
        raise ConfigError(
            f"accelerate launch sets --mixed_precision {precision}: set --mixed_precision no, and "
            "choose the run's own precision, such as --precision bf16_autocast"
        )
