"""The weights that change in a run: taken from policies, put into others of the same make."""

from __future__ import annotations

import json
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import Parameter

from llmzoo.engine.ray.parcels import Bytes, tensors_packed, tensors_unpacked
from llmzoo.parallel.sharding import divided_like, own_part, whole
from llmzoo.policies import lora
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy

Learning = Mapping[str, TransformersPolicy]  # policies that learn, by name


def changing(policy: TransformersPolicy) -> dict[str, Parameter]:
    """What learning changes in a policy, by name: its adapter, or the model's unfrozen weights."""
    if policy.adapter is not None:
        named = lora.own_parameters(policy.model, policy.adapter)
    else:
        named = dict(policy.model.named_parameters())
    return {name: weight for name, weight in named.items() if weight.requires_grad}


@torch.no_grad()
def put(policy: TransformersPolicy, tensors: Mapping[str, Tensor]) -> None:
    """Take up whole weights, by name; of a divided one each rank takes its part."""
    for name, own in changing(policy).items():
        own_part(own).copy_(own_part(divided_like(tensors[name], own)))


def playing(learning: Learning, players: Mapping[str, Policy]) -> Bytes:
    """The weights with which the players play, each in the place of the policy of its name.

    Nothing of those that are no models. All ranks call this, and get the same.
    """
    found: dict[str, Tensor] = {}
    bare = []
    for name, policy in learning.items():
        player = players[name]
        if not isinstance(player, TransformersPolicy):
            continue
        if policy.adapter is not None and player.adapter is None:
            bare.append(name)
            continue
        for weight, tensor in _like(policy, player).items():
            found[f"{name}/{weight}"] = whole(tensor.detach())
    return tensors_packed(found, json.dumps({"bare": bare}))


def take_up(learning: Learning, parcel: Bytes) -> dict[str, TransformersPolicy]:
    """Who plays with the weights that :func:`playing` gave, by the name of the policy.

    The policies themselves, with these weights in them, or their bare base where that plays.
    """
    found, note = tensors_unpacked(parcel)
    players = {name: learning[name].with_adapter(None) for name in json.loads(note)["bare"]}
    by_policy: dict[str, dict[str, Tensor]] = {}
    for key, tensor in found.items():
        name, _, weight = key.rpartition("/")
        by_policy.setdefault(name, {})[weight] = tensor
    for name, tensors in by_policy.items():
        put(learning[name], tensors)
        players[name] = learning[name]
    return players


def _like(policy: TransformersPolicy, player: TransformersPolicy) -> dict[str, Tensor]:
    """The player's weights under the policy's names for them."""
    if player.adapter == policy.adapter and player.model is policy.model:
        return dict(changing(policy))
    found: dict[str, Tensor] = {}
    for name in changing(policy):
        own = name
        if policy.adapter is not None:
            parts = (player.adapter if p == policy.adapter else p for p in name.split("."))
            own = ".".join(str(part) for part in parts)
        found[name] = player.model.get_parameter(own)
    return found


def file_of(name: str) -> str:
    """Where a state has the weights of the policy of this name."""
    return f"{name}.weights"
