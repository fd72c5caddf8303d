"""The static steps of each model, with their buffers and CUDA graphs, kept for its next call."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count as numbers_from
from typing import Any
from weakref import WeakKeyDictionary, finalize

import torch

from llmzoo.distributed.sharding import is_sharded
from llmzoo.models import llama_body
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.memory import IDLE_STEPS_SHARE, WEIGHT_COPIES_SHARE, total_memory
from llmzoo.models.sampling_settings import Sampling
from llmzoo.models.static_step import StaticStep, StepShape


class StepPool:
    """The steps of a model with some adapters, and the copy of its weights that they share."""

    def __init__(self, model: Any, adapters: Sequence[str]):
        self.body = LlamaBody(model, adapters or (None,), owned=True)
        self.device = model.device
        self._pool_id = next(_POOL_IDS)
        finalize(self, _forget, self._pool_id)

    def take(self, shape: StepShape, sampling: Sampling, greedy: bool) -> StaticStep:
        """A step that nobody else uses until :meth:`release`."""
        with _LOCK:
            found = _IDLE_STEPS.pop(self._key(shape, sampling, greedy), None)
        if found is None:
            found = StaticStep(self.body, shape, sampling, greedy=greedy, device=self.device)
        return found

    def release(self, step: StaticStep, sampling: Sampling, greedy: bool) -> None:
        """Keep a step for its next use. If idle steps take too much memory, the oldest of all models go."""
        max_bytes = IDLE_STEPS_SHARE * total_memory(self.device)
        with _LOCK:
            _IDLE_STEPS[self._key(step.shape, sampling, greedy)] = step
            while (
                len(_IDLE_STEPS) > 1
                and sum(idle.cache_bytes for idle in [*_IDLE_STEPS.values()]) > max_bytes
            ):
                _IDLE_STEPS.popitem(last=False)

    def _key(self, shape: StepShape, sampling: Sampling, greedy: bool) -> tuple[Any, ...]:
        return self._pool_id, shape, sampling.temperature, sampling.top_k, sampling.top_p, greedy


_POOL_IDS = numbers_from()
_LOCK = threading.RLock()  # a finalizer may run anywhere, also where the lock is held
_IDLE_STEPS: OrderedDict[tuple[Any, ...], StaticStep] = OrderedDict()  # the one used last is last


def _forget(pool_id: int) -> None:
    """Drop the steps of a model that is gone."""
    with _LOCK:
        for key in [key for key in [*_IDLE_STEPS] if key[0] == pool_id]:
            _IDLE_STEPS.pop(key, None)


def idle_steps() -> list[StaticStep]:
    """The steps of all models that wait for their next call."""
    with _LOCK:
        return [*_IDLE_STEPS.values()]


def drop_idle_steps() -> None:
    """Free the memory of the steps that wait for their next call."""
    with _LOCK:
        _IDLE_STEPS.clear()


class ModelSteps:
    """The step pools of a model. They hold only while its weights keep their addresses, which graphs read."""

    def __init__(self, model: Any):
        self.weight_addresses = _weight_addresses(model)
        # the state of these layers determines which adapters a ``PeftModel`` computes with
        self._peft_layers = [
            layer
            for layer in model.modules()
            if isinstance(getattr(layer, "disable_adapters", None), bool)  # a method of models
        ]
        self._sharded = is_sharded(model)
        self._weights = sum(p.numel() * p.element_size() for p in model.parameters())
        self._cached_checks: dict[Any, bool] = {}
        self._single_pools: dict[Any, StepPool] = {}
        self._joint_pools: dict[Any, StepPool] = {}

    def is_faster(self, model: Any) -> bool:
        key = self._state(model)
        if key not in self._cached_checks:
            self._cached_checks[key] = self._is_faster(model)
        return self._cached_checks[key]

    def _is_faster(self, model: Any) -> bool:
        if self._sharded or not llama_body.is_supported(model):
            return False
        adapters = len(getattr(model, "peft_config", {}))
        # a copy for each adapter alone, and one more for each where they share a step
        copies = 2 * adapters if adapters > 1 else 1
        if copies * self._weights > WEIGHT_COPIES_SHARE * total_memory(model.device):
            return False
        return getattr(model.get_decoder().rotary_emb, "rope_type", "") not in (
            "dynamic",
            "longrope",
        )

    def shares(self, model: Any, adapters: Sequence[str]) -> bool:
        """Whether adapters can share a step."""
        key = tuple(adapters)
        if key not in self._cached_checks:
            self._cached_checks[key] = llama_body.is_shared(model, adapters)
        return self._cached_checks[key]

    def current(self, model: Any, adapters: Sequence[str]) -> StepPool:
        """The steps of several adapters, or of the model as it computes, with a copy of its current weights."""
        if adapters:  # of one set of them, since others are other copies of the same weights
            key: Any = tuple(adapters), torch.is_autocast_enabled(model.device.type)
            known = self._joint_pools
            self._joint_pools = {key: known[key]} if key in known else {}
            known = self._joint_pools
        else:
            key, known = self._state(model), self._single_pools
        if key in known:
            known[key].body.refresh()
        else:
            known[key] = StepPool(model, adapters)
        return known[key]

    def _state(self, model: Any) -> tuple[Any, ...]:
        return torch.is_autocast_enabled(model.device.type), *(
            (layer.disable_adapters, getattr(layer, "merged", False), *layer.active_adapters)
            for layer in self._peft_layers
        )


_POOLS: WeakKeyDictionary[Any, ModelSteps] = WeakKeyDictionary()


def steps_of_model(model: Any) -> ModelSteps:
    known = _POOLS.get(model)
    if known is None or known.weight_addresses != _weight_addresses(model):
        known = _POOLS[model] = ModelSteps(model)
    return known


def _weight_addresses(model: Any) -> tuple[int, ...]:
    return tuple(weights.data_ptr() for weights in model.parameters())
