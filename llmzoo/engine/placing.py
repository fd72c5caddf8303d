"""How the models that learn lie on the ranks of a run: alike on all, or divided."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

from transformers.conversion_mapping import get_checkpoint_conversion_mapping

from llmzoo.errors import ConfigError
from llmzoo.parallel import ranks
from llmzoo.parallel.sharding import shard
from llmzoo.policies.lora import is_peft
from llmzoo.policies.transformers import TransformersPolicy

Parallel = Literal["auto", "ddp", "fsdp"]


def place(
    policies: Iterable[TransformersPolicy], parallel: Parallel, *, cpu_offload: bool = False
) -> None:
    """Lay out the models of policies, the same ones on every rank; before anything is made of them.

    ``"ddp"``: every rank holds them whole (distributed data parallel). ``"fsdp"``: each holds a
    part of every weight; with ``cpu_offload`` in the CPU's memory. ``"auto"``: as the launcher was
    told (``accelerate launch --use_fsdp``), otherwise ddp. On one rank there is nothing to divide.

    Raises :class:`ConfigError` for what accelerate was configured to do and is not done here.
    """
    _check_launcher()
    launched = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    offload = cpu_offload or (
        parallel == "auto" and os.environ.get("FSDP_OFFLOAD_PARAMS", "false").lower() == "true"
    )
    divided = parallel == "fsdp" or (parallel == "auto" and launched)
    if cpu_offload and not divided:
        raise ConfigError("cpu_offload means nothing without parallel='fsdp'")
    if ranks.world() == 1:
        return
    models: dict[int, Any] = {id(policy.model): policy.model for policy in policies}
    for model in models.values():
        ranks.same_weights(list(model.parameters()))
        if divided and is_peft(model):
            adapters = [weight for weight in model.parameters() if weight.requires_grad]
            shard(model.get_base_model(), offload=offload, whole=adapters)
        elif divided:
            if get_checkpoint_conversion_mapping(model.config.model_type):
                raise ConfigError(
                    f"the weights of {model.config.model_type} are saved in another layout than they "
                    "are trained in, and cannot be divided: parallel='ddp', or seats='lora'"
                )
            shard(model, offload=offload)


def _check_launcher() -> None:
    if os.environ.get("ACCELERATE_USE_DEEPSPEED", "false").lower() == "true":
        raise ConfigError("DeepSpeed is not used here: configure accelerate with FSDP, or neither")
    precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    if precision not in ("no", ""):
        raise ConfigError(
            f"accelerate launch says --mixed_precision {precision}: say --mixed_precision no, and "
            "choose the run's own precision, such as --precision bf16_autocast"
        )
