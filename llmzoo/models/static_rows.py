"""Rows that grow by static steps: the host starts step after step and reads nothing in between.

The steps of a model, their buffers and CUDA graphs are kept for the next call.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import count as numbers_from
from typing import Any
from weakref import WeakKeyDictionary, finalize

import torch
from torch import Tensor

from llmzoo.distributed.sharding import is_sharded
from llmzoo.models import attention, llama_body, lora
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.prefix import CachedPrompts
from llmzoo.models.sampling import Uniforms
from llmzoo.models.sampling_settings import Sampling
from llmzoo.models.static_step import StaticStep, StepShape

_WEIGHTS_SHARE = 0.25  # of a GPU's memory, that copies of the weights may take
_KEPT_SHARE = 0.1  # of a GPU's memory, that steps waiting for their next call may take
_STEP_SHARE = 0.25  # of a GPU's memory, that a step may take
_WASTE = 4  # slots for each row, beyond which rounding up costs more than a graph saves
_SHRINKS = 0.5  # share of the slots that is left, at which the rest moves to a smaller step


def gains_on_gpu(model: Any) -> bool:
    """Whether a model gains from static steps: it is on a GPU, supported, and small beside its memory.

    Sharded weights are gathered somewhere else each time, where a graph would not find them.
    """
    return model.device.type == "cuda" and _step_pool_for(model).gains(model)


def make_static_rows(
    model: Any,
    prompts: Sequence[Sequence[int]],
    counts: Sequence[int],
    sampling: Sampling,
    uniforms: Uniforms,
    *,
    greedy: bool,
    adapters: Sequence[str] = (),
    adapter_of: Sequence[int] | None = None,
) -> StaticRows | None:
    """``counts[b]`` rows after ``prompts[b]``; None if the model or their step does not fit.

    ``adapters``: the names of several, in alphabetical order; by default the model as it computes.
    ``adapter_of[b]``: which of them the prompt has, in ascending order.
    """
    if not prompts or not gains_on_gpu(model):
        return None
    known = _step_pool_for(model)
    if len(adapters) > 1 and not known.shares(model, adapters):
        return None
    adapter_of = [0] * len(prompts) if adapter_of is None else adapter_of
    lengths = [len(prompt) for prompt in prompts]
    shape = StepShape.for_call(
        counts, lengths, sampling.max_new_tokens, adapter_of, max(1, len(adapters))
    )
    size = shape.tokens * llama_body.cache_bytes(model)
    if shape.slots > _WASTE * sum(counts) or size > _STEP_SHARE * _total_memory(model.device):
        return None
    steps = known.current(model, adapters)
    rows = StaticRows(steps, shape, lengths, counts, adapter_of, sampling, uniforms, greedy=greedy)
    rows.read(model, prompts, adapters)
    return rows


class StaticRows:
    """``counts[b]`` rows after a prompt of ``lengths[b]`` tokens, as of :class:`llmzoo.models.decode.Rows`."""

    def __init__(
        self,
        steps: _StepPool,
        shape: StepShape,
        lengths: Sequence[int],
        counts: Sequence[int],
        adapter_of: Sequence[int],
        sampling: Sampling,
        uniforms: Uniforms,
        *,
        greedy: bool,
    ):
        self._step: StaticStep
        self._slots: Tensor
        self._prompt_of: Sequence[int]
        self._device, self._uniforms = steps.device, uniforms
        self._steps = steps
        self._settings = (sampling, greedy)
        self._numbers = self._indices(range(sum(counts)))  # among the uniforms
        self._begin(shape, lengths, counts, adapter_of)
        self._count = 0  # tokens of each row

    def read(self, model: Any, prompts: Sequence[Sequence[int]], adapters: Sequence[str]) -> None:
        """Read the prompts, each with its adapter."""
        shape = self._step.shape
        first: Tensor | None = None  # logits [B, R, V]
        for number in sorted(set(self._adapter_of)):
            own = [b for b, adapter in enumerate(self._adapter_of) if adapter == number]
            if adapters:
                lora.activate(model, adapters[number])
            kept = CachedPrompts([prompts[b] for b in own], self._device)
            states = attention.run_with_layout(model, kept.ids, kept.positions, kept)
            places = self._indices([self._places[b] for b in own])
            self._step.read(places, kept.kept)
            logits = model.get_output_embeddings()(states[kept.ends])
            if first is None:
                first = logits.new_zeros(shape.prompts, shape.rows, logits.shape[-1])
            first[places] = logits.unsqueeze(1)
        assert first is not None
        self._first = first.flatten(0, 1)

    def grow(self, count: int) -> Tensor:
        begun = self._count
        for _ in range(count):
            self._load_noise()
            if self._count:
                self._step.run()
            else:
                self._step.sample(self._first)
            self._count += 1
        return self._step.found[begun : self._count].index_select(2, self._slots)

    def keep(self, rows: Sequence[int]) -> None:
        kept, old, before = self._indices(rows), self._step, self._slots
        self._numbers = self._numbers[kept]
        prompt_of = [self._prompt_of[row] for row in rows]
        counts = Counter(prompt_of)  # in ascending order, as the rows are
        lengths = [self._lengths[b] for b in counts]
        adapter_of = [self._adapter_of[b] for b in counts]
        others_places = self._indices([self._places[b] for b in counts])
        shape = StepShape.for_call(
            [*counts.values()], lengths, old.shape.room, adapter_of, old.shape.adapters
        )
        if shape.slots > _SHRINKS * old.shape.slots:
            self._slots, self._prompt_of = before[kept], prompt_of
            return
        own = self._count - 1  # the newest token has no keys and values yet
        self._begin(shape, lengths, [*counts.values()], adapter_of, own)
        places = self._indices(self._places)
        self._step.take(old, self._slots, before[kept], places, others_places, own)
        self._steps.release(old, *self._settings)

    def close(self) -> None:
        """Give the step back. No call follows."""
        self._steps.release(self._step, *self._settings)

    def _begin(
        self,
        shape: StepShape,
        lengths: Sequence[int],
        counts: Sequence[int],
        adapter_of: Sequence[int],
        own: int = 0,
    ) -> None:
        """Take a step for ``counts[b]`` rows with ``own`` tokens after a prompt of ``lengths[b]``."""
        rows = [(b, row) for b, count in enumerate(counts) for row in range(count)]
        self._lengths, self._prompt_of = lengths, [b for b, _ in rows]
        self._adapter_of, self._places = adapter_of, shape.places(adapter_of)
        self._slots = self._indices([self._places[b] * shape.rows + row for b, row in rows])
        self._step = self._steps.taken(shape, *self._settings)
        self._step.begin(dict(zip(self._places, lengths, strict=True)), own)

    def _load_noise(self) -> None:
        """Bring the numbers of the tokens that are sampled next, as many as are drawn together."""
        numbers = self._uniforms.block(self._count)
        if numbers is not None and not self._settings[1]:
            room = self._step.shape.room - self._count
            mine = numbers[:room].index_select(1, self._numbers)
            into = self._step.uniforms[self._count : self._count + len(mine)]
            into.index_copy_(1, self._slots, mine)

    def _indices(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, device=self._device)


class _StepPool:
    """The steps of a model with some adapters, and the copy of its weights that they share."""

    def __init__(self, model: Any, adapters: Sequence[str]):
        self.body = LlamaBody(model, adapters or (None,), owned=True)
        self.device = model.device
        self._number = next(_POOL_IDS)
        finalize(self, _forget, self._number)

    def taken(self, shape: StepShape, sampling: Sampling, greedy: bool) -> StaticStep:
        """A step that nobody else uses until it is given back."""
        with _LOCK:
            found = _IDLE_STEPS.pop(self._key(shape, sampling, greedy), None)
        if found is None:
            found = StaticStep(self.body, shape, sampling, greedy=greedy, device=self.device)
        return found

    def release(self, step: StaticStep, sampling: Sampling, greedy: bool) -> None:
        """Keep a step for its next use. The oldest, of all models, go when they take too much memory."""
        most = _KEPT_SHARE * _total_memory(self.device)
        with _LOCK:
            _IDLE_STEPS[self._key(step.shape, sampling, greedy)] = step
            while (
                len(_IDLE_STEPS) > 1 and sum(each.size for each in [*_IDLE_STEPS.values()]) > most
            ):
                _IDLE_STEPS.popitem(last=False)

    def _key(self, shape: StepShape, sampling: Sampling, greedy: bool) -> tuple[Any, ...]:
        return self._number, shape, sampling.temperature, sampling.top_k, sampling.top_p, greedy


_POOL_IDS = numbers_from()
_LOCK = threading.RLock()  # a finalizer may run anywhere, also where the lock is held
_IDLE_STEPS: OrderedDict[tuple[Any, ...], StaticStep] = OrderedDict()  # the one used last is last


def _forget(steps: int) -> None:
    """Drop the steps of a model that is gone."""
    with _LOCK:
        for key in [key for key in [*_IDLE_STEPS] if key[0] == steps]:
            _IDLE_STEPS.pop(key, None)


def idle_steps() -> list[StaticStep]:
    """The steps of all models that wait for their next call."""
    with _LOCK:
        return [*_IDLE_STEPS.values()]


class _ModelSteps:
    """What is known of a model as long as its weights are where they are: a graph reads some of them there."""

    def __init__(self, model: Any):
        self.places = _weight_addresses(model)
        # their state says what the layers of a ``PeftModel`` compute with
        self._adapted = [
            layer
            for layer in model.modules()
            if isinstance(getattr(layer, "disable_adapters", None), bool)  # a method of models
        ]
        self._sharded = is_sharded(model)
        self._weights = sum(p.numel() * p.element_size() for p in model.parameters())
        self._answers: dict[Any, bool] = {}
        self._alone: dict[Any, _StepPool] = {}
        self._joint: dict[Any, _StepPool] = {}

    def gains(self, model: Any) -> bool:
        key = self._state(model)
        if key not in self._answers:
            self._answers[key] = self._gains(model)
        return self._answers[key]

    def _gains(self, model: Any) -> bool:
        if self._sharded or not llama_body.is_supported(model):
            return False
        adapters = len(getattr(model, "peft_config", {}))
        copies = (
            2 * adapters if adapters > 1 else 1
        )  # of each alone, and of those that share a step
        if copies * self._weights > _WEIGHTS_SHARE * _total_memory(model.device):
            return False
        return getattr(model.get_decoder().rotary_emb, "rope_type", "") not in (
            "dynamic",
            "longrope",
        )

    def shares(self, model: Any, adapters: Sequence[str]) -> bool:
        """Whether adapters can share a step."""
        key = tuple(adapters)
        if key not in self._answers:
            self._answers[key] = llama_body.is_shared(model, adapters)
        return self._answers[key]

    def current(self, model: Any, adapters: Sequence[str]) -> _StepPool:
        """The steps of several adapters, or of the model as it computes, with a copy of its current weights."""
        if adapters:  # of one set of them, since others are other copies of the same weights
            key: Any = tuple(adapters), torch.is_autocast_enabled(model.device.type)
            known = self._joint
            self._joint = {key: known[key]} if key in known else {}
            known = self._joint
        else:
            key, known = self._state(model), self._alone
        if key in known:
            known[key].body.refresh()
        else:
            known[key] = _StepPool(model, adapters)
        return known[key]

    def _state(self, model: Any) -> tuple[Any, ...]:
        return torch.is_autocast_enabled(model.device.type), *(
            (layer.disable_adapters, getattr(layer, "merged", False), *layer.active_adapters)
            for layer in self._adapted
        )


_POOLS: WeakKeyDictionary[Any, _ModelSteps] = WeakKeyDictionary()


def _step_pool_for(model: Any) -> _ModelSteps:
    known = _POOLS.get(model)
    if known is None or known.places != _weight_addresses(model):
        known = _POOLS[model] = _ModelSteps(model)
    return known


def _weight_addresses(model: Any) -> tuple[int, ...]:
    return tuple(weights.data_ptr() for weights in model.parameters())


def _total_memory(device: torch.device) -> float:
    """Bytes of a GPU. On a CPU, where only tests come here, any number."""
    if device.type != "cuda":
        return 2.0**33
    total: int = torch.cuda.get_device_properties(device).total_memory
    return float(total)
