"""A model's weights under the names of a checkpoint, which vLLM expects."""

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
from llmzoo.models import lora

WEIGHTS_FILE = "model.safetensors"
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # the values of vLLM's max_lora_rank


def unwrap_base(model: Any) -> Any:
    """The transformers model itself, without the ``PeftModel`` around it."""
    return model.get_base_model() if lora.is_peft(model) else model


@torch.no_grad()
def checkpoint_weights(model: Any) -> dict[str, Tensor]:
    """The weights under ``save_pretrained``'s names, without adapters.

    Weights that are divided over ranks are collected; all ranks call this. Tied weights appear
    under both names: vLLM may keep a packed copy of the second (on a CPU it packs a tied head),
    which would otherwise stay old.
    """
    return dict(revert_weight_conversion(unwrap_base(model), lora.base_weights(model)))


def save_base(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write a transformers folder of the model without its adapters."""
    base = unwrap_base(model)
    config = copy.deepcopy(base.config)
    config.architectures = [type(base).__name__]
    config.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    unique: dict[tuple[int, torch.Size], tuple[str, Tensor]] = {}
    for name, tensor in checkpoint_weights(model).items():
        unique.setdefault((tensor.data_ptr(), tensor.shape), (name, tensor))
    _write(dict(unique.values()), folder)


def save_weights(model: Any, folder: Path) -> None:
    """Write only the weights, tied ones under both names."""
    seen: set[int] = set()
    weights: dict[str, Tensor] = {}
    for name, tensor in checkpoint_weights(model).items():
        # safetensors refuses tensors that share memory
        weights[name] = tensor.clone() if tensor.data_ptr() in seen else tensor
        seen.add(tensor.data_ptr())
    _write(weights, folder)


def _write(weights: dict[str, Tensor], folder: Path) -> None:
    contiguous = {name: tensor.contiguous() for name, tensor in weights.items()}
    save_file(contiguous, folder / WEIGHTS_FILE, metadata={"format": "pt"})


def required_max_lora_rank(model: Any, adapters: list[str]) -> int:
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
    if rank > LORA_RANKS[-1]:
        raise ConfigError(f"vLLM makes room for adapters up to rank {LORA_RANKS[-1]}, got {rank}")
    return next(allowed for allowed in LORA_RANKS if allowed >= rank)
