"""Snapshots: the trainable weights after a certain update."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import Parameter

from llmzoo.distributed.sharding import local_shard, shard_tensor_like
from llmzoo.errors import CheckpointError
from llmzoo.models import lora
from llmzoo.policies.base import NoiseKeys, Policy
from llmzoo.policies.transformers import TransformersPolicy

Learning = Mapping[str, TransformersPolicy]  # policies that learn, by name


def trainable_weights(policy: TransformersPolicy) -> dict[str, Parameter]:
    """The trainable weights by name: those of the adapter, or else of the model."""
    if policy.adapter is not None:
        named = lora.adapter_parameters(policy.model, policy.adapter)
    else:
        named = dict(policy.model.named_parameters())
    return {name: weight for name, weight in named.items() if weight.requires_grad}


@torch.no_grad()
def load_tensors(policy: TransformersPolicy, tensors: Mapping[str, Tensor]) -> None:
    """Copy full (unsharded) tensors into the weights of the same names; each rank copies its shards."""
    for name, own in trainable_weights(policy).items():
        local_shard(own).copy_(local_shard(shard_tensor_like(tensors[name], own)))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``tensors``: the trainable weights, by ``"policy/weight"``."""

    tensors: Mapping[str, Tensor]

    @staticmethod
    def from_policies(learning: Learning) -> Snapshot:
        """A view of the current weights, not a copy."""
        return Snapshot(
            {
                f"{name}/{weight}": tensor.detach()
                for name, policy in learning.items()
                for weight, tensor in trainable_weights(policy).items()
            }
        )

    def copy_into(self, learning: Learning) -> None:
        """Copy the weights into policies of the same names. Other policies are unchanged."""
        by_policy: dict[str, dict[str, Tensor]] = {}
        for key, tensor in self.tensors.items():
            name, _, weight = key.rpartition("/")
            by_policy.setdefault(name, {})[weight] = tensor
        for name, tensors in by_policy.items():
            load_tensors(learning[name], tensors)

    def save(self, folder: Path, learning: Learning, *, age: int) -> None:
        """Write the weights of ``age`` updates ago into a checkpoint's folder."""
        ordered = {f"{n:06d}": self.tensors[key] for n, key in enumerate(_weight_keys(learning))}
        save_file({n: t.contiguous() for n, t in ordered.items()}, folder / snapshot_file_name(age))

    @staticmethod
    def load(folder: Path, learning: Learning, *, age: int) -> Snapshot:
        """What :meth:`save` wrote; raises :class:`CheckpointError` for another model's weights."""
        saved, keys = load_file(folder / snapshot_file_name(age)), _weight_keys(learning)
        if len(saved) != len(keys):
            raise CheckpointError(
                f"{folder / snapshot_file_name(age)} holds the weights of another model"
            )
        return Snapshot({key: saved[f"{n:06d}"] for n, key in enumerate(keys)})


def snapshot_file_name(age: int) -> str:
    """The file of a checkpoint with the weights of ``age`` updates ago."""
    return "ahead.safetensors" if age == 1 else f"ahead_{age}.safetensors"


def _weight_keys(learning: Learning) -> list[str]:
    """``policy/weight`` in the order of the models' weights."""
    keys = []
    for model in {id(policy.model): policy.model for policy in learning.values()}.values():
        names = {
            id(weight): f"{name}/{weight_name}"
            for name, policy in learning.items()
            if policy.model is model
            for weight_name, weight in trainable_weights(policy).items()
        }
        keys += [names[id(weight)] for weight in model.parameters() if id(weight) in names]
    return keys


def copy_for_rollouts(learning: Learning, policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """Policies for rollouts during an update: copies of those that use a learning model.

    A copy has its own modules, so that two threads can use both, and its own trainable weights. It
    shares weights that no policy trains, such as the base model of adapters.
    """
    models: dict[int, Any] = {}
    for model in {id(p.model): p.model for p in learning.values()}.values():
        trainable = {
            id(w)
            for p in learning.values()
            if p.model is model
            for w in trainable_weights(p).values()
        }
        shared = {id(w): w for w in model.parameters() if id(w) not in trainable}
        models[id(model)] = copy.deepcopy(model, shared).eval()
    noise_keys: dict[int, NoiseKeys] = {}
    copied: dict[int, Policy] = {}
    for policy in policies.values():
        if id(policy) in copied:
            continue
        copied[id(policy)] = policy
        if isinstance(policy, TransformersPolicy) and id(policy.model) in models:
            player = copied[id(policy)] = policy.with_adapter(policy.adapter)
            player.model = models[id(policy.model)]
            player.tokenizer = copy.deepcopy(policy.tokenizer)  # tokenizers are not thread-safe
            # policies that share their noise still share it
            player.noise_keys = noise_keys.setdefault(
                id(policy.noise_keys), NoiseKeys(policy.noise_keys.seed)
            )
    return {name: copied[id(policy)] for name, policy in policies.items()}
