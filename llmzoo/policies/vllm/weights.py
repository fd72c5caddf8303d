"""A model's weights under the names of a checkpoint, which are those that vLLM loads."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedTokenizerBase
from transformers.core_model_loading import revert_weight_conversion

from llmzoo.errors import ConfigError
from llmzoo.policies import lora

WEIGHTS = "model.safetensors"
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM makes room for


def base_of(model: Any) -> Any:
    """The transformers model inside: what a policy's adapters are on, or the model itself."""
    return model.get_base_model() if lora.is_peft(model) else model


@torch.no_grad()
def checkpoint_weights(model: Any) -> dict[str, Tensor]:
    """The weights as ``save_pretrained`` would name them, without any adapter.

    Of a model that is divided over ranks, whole ones; all ranks call this.

    A weight that is tied to another stands under both names: where vLLM has packed the second apart
    (on a CPU it packs the tied head of a model), it would otherwise keep the old one.
    """
    return dict(revert_weight_conversion(base_of(model), lora.base_weights(model)))


def save_base(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """A transformers folder of the model without its adapters, which stay where they are."""
    base = base_of(model)
    config = copy.deepcopy(base.config)
    config.architectures = [type(base).__name__]
    config.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    once: dict[tuple[int, torch.Size], tuple[str, Tensor]] = {}
    for name, tensor in checkpoint_weights(model).items():
        once.setdefault((tensor.data_ptr(), tensor.shape), (name, tensor))
    _write(dict(once.values()), folder)


def save_weights(model: Any, folder: Path) -> None:
    """The weights alone, tied ones under both names."""
    seen: set[int] = set()
    weights: dict[str, Tensor] = {}
    for name, tensor in checkpoint_weights(model).items():
        # the format refuses two names for one memory
        weights[name] = tensor.clone() if tensor.data_ptr() in seen else tensor
        seen.add(tensor.data_ptr())
    _write(weights, folder)


def _write(weights: dict[str, Tensor], folder: Path) -> None:
    contiguous = {name: tensor.contiguous() for name, tensor in weights.items()}
    save_file(contiguous, folder / WEIGHTS, metadata={"format": "pt"})


def room_for(model: Any, adapters: list[str]) -> int:
    """The ``max_lora_rank`` that adapters need.

    Raises :class:`ConfigError` for adapters that vLLM cannot compute with.
    """
    configs = [model.peft_config[adapter] for adapter in adapters]
    for config in configs:
        if config.use_dora or config.modules_to_save or config.rank_pattern or config.alpha_pattern:
            raise ConfigError(
                "vLLM computes with plain LoRA: no use_dora, modules_to_save, rank_pattern, "
                "alpha_pattern; sampler='transformers' does"
            )
    rank = max(config.r for config in configs)
    if rank > RANKS[-1]:
        raise ConfigError(f"vLLM makes room for adapters up to rank {RANKS[-1]}, got {rank}")
    return next(allowed for allowed in RANKS if allowed >= rank)
