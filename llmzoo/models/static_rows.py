"""Rows that grow by static steps: the host starts step after step and reads nothing in between.

The steps of a model, their buffers and CUDA graphs are kept for the next call.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from itertools import count as numbers_from
from typing import Any
from weakref import WeakKeyDictionary, finalize

import torch
from torch import Tensor

from llmzoo.distributed.sharding import is_sharded
from llmzoo.models import attention, llama_body
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.prefix import KeptPrompts
from llmzoo.models.sampling import Uniforms
from llmzoo.models.sampling_settings import Sampling
from llmzoo.models.static_step import Shape, StaticStep

_WEIGHTS_SHARE = 0.25  # of a GPU's memory, that copies of the weights may take
_KEPT_SHARE = 0.1  # of a GPU's memory, that steps waiting for their next call may take
_STEP_SHARE = 0.25  # of a GPU's memory, that a step may take
_WASTE = 4  # slots for each row, beyond which rounding up costs more than a graph saves
_SHRINKS = 0.5  # share of the slots that is left, at which the rest moves to a smaller step


def gains_on_gpu(model: Any) -> bool:
    """Whether a model gains from static steps: it is on a GPU, supported, and small beside its memory.

    Sharded weights are gathered somewhere else each time, where a graph would not find them.
    """
    if model.device.type != "cuda" or is_sharded(model) or not llama_body.is_supported(model):
        return False
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    copies = max(1, len(getattr(model, "peft_config", {})))  # one for each adapter
    if copies * weights > _WEIGHTS_SHARE * _memory(model.device):
        return False
    return getattr(model.get_decoder().rotary_emb, "rope_type", "") not in ("dynamic", "longrope")


def make_static_rows(
    model: Any,
    prompts: Sequence[Sequence[int]],
    counts: Sequence[int],
    sampling: Sampling,
    uniforms: Uniforms,
    *,
    greedy: bool,
) -> StaticRows | None:
    """``counts[b]`` rows after ``prompts[b]``; None if the model or their step does not fit."""
    if not prompts or not gains_on_gpu(model):
        return None
    shape = Shape.of(counts, [len(prompt) for prompt in prompts], sampling.max_new_tokens)
    if shape.slots > _WASTE * sum(counts):
        return None
    steps = _steps_of(model)
    if shape.size(steps.body) > _STEP_SHARE * _memory(model.device):
        return None
    return StaticRows(model, steps, shape, prompts, counts, sampling, uniforms, greedy=greedy)


class StaticRows:
    """``counts[b]`` rows after ``prompts[b]``, as of :class:`llmzoo.models.decode.Rows`."""

    def __init__(
        self,
        model: Any,
        steps: _Steps,
        shape: Shape,
        prompts: Sequence[Sequence[int]],
        counts: Sequence[int],
        sampling: Sampling,
        uniforms: Uniforms,
        *,
        greedy: bool,
    ):
        self._step: StaticStep
        self._slots: Tensor
        self._prompt_of: Sequence[int]
        self._device, self._uniforms = model.device, uniforms
        self._steps = steps
        self._settings = (sampling, greedy)
        read = KeptPrompts(prompts, model.device)
        states = attention.run(model, read.ids, read.positions, read)
        self._numbers = self._indices(range(sum(counts)))  # among the uniforms
        self._begin(shape, [len(prompt) for prompt in prompts], counts, read.kept)
        prompt_of = [min(b, len(prompts) - 1) for b in range(shape.prompts)]
        logits = model.get_output_embeddings()(states[read.ends[self._indices(prompt_of)]])
        self._first = logits.unsqueeze(1).expand(-1, shape.rows, -1).flatten(0, 1)
        self._count = 0  # tokens of each row

    def grow(self, count: int) -> Tensor:
        begun = self._count
        for _ in range(count):
            self._draw_noise()
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
        shape = Shape.of([*counts.values()], lengths, old.shape.room)
        if shape.slots > _SHRINKS * old.shape.slots:
            self._slots, self._prompt_of = before[kept], prompt_of
            return
        own = self._count - 1  # the newest token has no keys and values yet
        self._begin(shape, lengths, [*counts.values()], {}, own)
        self._step.take(old, self._slots, before[kept], self._indices([*counts]), own)
        self._steps.give_back(old, *self._settings)

    def close(self) -> None:
        """Give the step back. No call follows."""
        self._steps.give_back(self._step, *self._settings)

    def _begin(
        self,
        shape: Shape,
        lengths: Sequence[int],
        counts: Sequence[int],
        prefixes: Mapping[int, tuple[Tensor, Tensor]],
        own: int = 0,
    ) -> None:
        """Take a step for ``counts[b]`` rows with ``own`` tokens after a prompt of ``lengths[b]``."""
        rows = [(b, row) for b, count in enumerate(counts) for row in range(count)]
        self._lengths, self._prompt_of = lengths, [b for b, _ in rows]
        self._slots = self._indices([b * shape.rows + row for b, row in rows])
        self._step = self._steps.taken(shape, *self._settings)
        self._step.begin(lengths, prefixes, own)

    def _draw_noise(self) -> None:
        """Bring the numbers of the tokens that are sampled next, as many as are drawn together."""
        numbers = self._uniforms.block(self._count)
        if numbers is not None and not self._settings[1]:
            room = self._step.shape.room - self._count
            mine = numbers[:room].index_select(1, self._numbers)
            into = self._step.uniforms[self._count : self._count + len(mine)]
            into.index_copy_(1, self._slots, mine)

    def _indices(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, device=self._device)


class _Steps:
    """The steps of a model with one adapter, and the copy of its weights that they share."""

    def __init__(self, model: Any):
        self.places = _places(model)
        self.body = LlamaBody(model, owned=True)
        self._device = model.device
        self._number = next(_NUMBERS)
        finalize(self, _forget, self._number)

    def taken(self, shape: Shape, sampling: Sampling, greedy: bool) -> StaticStep:
        """A step that nobody else uses until it is given back."""
        with _LOCK:
            found = _WAITING.pop(self._key(shape, sampling, greedy), None)
        if found is None:
            found = StaticStep(self.body, shape, sampling, greedy=greedy, device=self._device)
        return found

    def give_back(self, step: StaticStep, sampling: Sampling, greedy: bool) -> None:
        """Keep a step for its next use. The oldest, of all models, go when they take too much memory."""
        most = _KEPT_SHARE * _memory(self._device)
        with _LOCK:
            _WAITING[self._key(step.shape, sampling, greedy)] = step
            while len(_WAITING) > 1 and sum(each.size for each in [*_WAITING.values()]) > most:
                _WAITING.popitem(last=False)

    def _key(self, shape: Shape, sampling: Sampling, greedy: bool) -> tuple[Any, ...]:
        return self._number, shape, sampling.temperature, sampling.top_k, sampling.top_p, greedy


_NUMBERS = numbers_from()
_LOCK = threading.RLock()  # a finalizer may run anywhere, also where the lock is held
_WAITING: OrderedDict[tuple[Any, ...], StaticStep] = OrderedDict()  # the one used last is last


def _forget(steps: int) -> None:
    """Drop the steps of a model that is gone."""
    with _LOCK:
        for key in [key for key in [*_WAITING] if key[0] == steps]:
            _WAITING.pop(key, None)


def waiting_steps() -> list[StaticStep]:
    """The steps of all models that wait for their next call."""
    with _LOCK:
        return [*_WAITING.values()]


_KNOWN: WeakKeyDictionary[Any, dict[Any, _Steps]] = WeakKeyDictionary()


def _steps_of(model: Any) -> _Steps:
    """The steps of a model as it computes now, with a copy of its current weights."""
    of_adapters = _KNOWN.setdefault(model, {})
    key = _adapters(model), torch.is_autocast_enabled(model.device.type)
    steps = of_adapters.get(key)
    # a graph reads some weights where they were
    if steps is None or steps.places != _places(model):
        steps = of_adapters[key] = _Steps(model)
    else:
        steps.body.refresh()
    return steps


def _adapters(model: Any) -> tuple[Any, ...]:
    """What the layers of a ``PeftModel`` compute with."""
    if not hasattr(model, "peft_config"):
        return ()
    return tuple(
        (layer.disable_adapters, getattr(layer, "merged", False), *layer.active_adapters)
        for layer in model.modules()
        if isinstance(getattr(layer, "disable_adapters", None), bool)  # a method of models
    )


def _places(model: Any) -> tuple[int, ...]:
    return tuple(weights.data_ptr() for weights in model.parameters())


def _memory(device: torch.device) -> float:
    """Bytes of a GPU. On a CPU, where only tests come here, any number."""
    if device.type != "cuda":
        return 2.0**33
    total: int = torch.cuda.get_device_properties(device).total_memory
    return float(total)
