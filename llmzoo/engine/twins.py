"""Copies of policies that play while the policies themselves learn."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.nn import Parameter

from llmzoo.errors import CheckpointError
from llmzoo.policies import lora
from llmzoo.policies.base import Policy
from llmzoo.policies.chance import Chance
from llmzoo.policies.transformers import TransformersPolicy

_FILE = "ahead.safetensors"


class Twins:
    """Who plays in the place of each of ``seats``, with the weights of some earlier time.

    A model that learns is copied: its modules, so that two threads can use the two, and the weights
    that change. Those that no policy trains, such as the base of adapters, are shared. All else in
    a seat plays itself.
    """

    def __init__(self, learning: Mapping[str, TransformersPolicy], seats: Mapping[str, Policy]):
        self._pairs: list[tuple[Parameter, Parameter]] = []  # a weight that learns, and its copy
        self._models: dict[int, Any] = {}
        for model in {id(p.model): p.model for p in learning.values()}.values():
            changing = {id(w) for p in learning.values() if p.model is model for w in _changing(p)}
            shared = {id(w): w for w in model.parameters() if id(w) not in changing}
            twin = copy.deepcopy(model, shared).eval()
            self._models[id(model)] = twin
            both = zip(model.parameters(), twin.parameters(), strict=True)
            self._pairs += [(weight, own) for weight, own in both if weight is not own]
        self._chances: dict[int, Chance] = {}
        twins: dict[int, Policy] = {id(policy): self._twin(policy) for policy in seats.values()}
        self.players = {agent: twins[id(policy)] for agent, policy in seats.items()}
        self._learning = {name: twins[id(policy)] for name, policy in learning.items()}

    def take_up(self) -> None:
        """Play with the weights as they are now."""
        with torch.no_grad():
            for weight, own in self._pairs:
                own.copy_(weight)

    def tokens_sampled(self) -> int:
        """By those that learn, so far."""
        learning = self._learning.values()
        return sum(p.tokens_sampled for p in learning if isinstance(p, TransformersPolicy))

    def save(self, folder: Path) -> None:
        """Write the weights that they play with."""
        weights = {f"{n:06d}": own.detach().contiguous() for n, (_, own) in enumerate(self._pairs)}
        save_file(weights, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Take up what :meth:`save` wrote; raises :class:`CheckpointError` where it does not fit."""
        saved = load_file(folder / _FILE)
        if len(saved) != len(self._pairs):
            raise CheckpointError(f"{folder / _FILE} holds the weights of another model")
        with torch.no_grad():
            for n, (_, own) in enumerate(self._pairs):
                own.copy_(saved[f"{n:06d}"])

    def _twin(self, policy: Policy) -> Policy:
        if not isinstance(policy, TransformersPolicy) or id(policy.model) not in self._models:
            return policy
        twin = policy.with_adapter(policy.adapter)
        twin.model = self._models[id(policy.model)]
        twin.tokenizer = copy.deepcopy(policy.tokenizer)  # not made for two threads at once
        # policies that share their noise go on sharing it
        twin.chance = self._chances.setdefault(id(policy.chance), Chance(policy.chance.seed))
        return twin


def _changing(policy: TransformersPolicy) -> list[Parameter]:
    if policy.adapter is not None:
        return list(lora.own_parameters(policy.model, policy.adapter).values())
    return policy.parameters()
