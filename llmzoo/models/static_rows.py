"""Rows that grow by static steps: the host starts step after step and reads nothing in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from llmzoo.models import attention, llama_body, lora, step_pool
from llmzoo.models.memory import STEP_SHARE
from llmzoo.models.prefix import CachedPrompts
from llmzoo.models.sampling import Uniforms
from llmzoo.models.sampling_settings import Sampling
from llmzoo.models.static_step import StaticStep, StepShape
from llmzoo.models.step_pool import StepPool, steps_of_model

_MAX_SLOTS_PER_ROW = 4  # with more, rounding up to a shape costs more than a graph saves
_MAX_SHRUNK_SHARE = 0.5  # rows move to a smaller step when it has at most this share of the slots


def is_faster_on_gpu(model: Any) -> bool:
    """Whether static steps speed up a model: it is on a GPU, supported, and small for its memory.

    Not with sharded weights: each gather puts them at another address, and a graph needs fixed ones.
    """
    return model.device.type == "cuda" and steps_of_model(model).is_faster(model)


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
    if not prompts or not is_faster_on_gpu(model):
        return None
    known = steps_of_model(model)
    if len(adapters) > 1 and not known.shares(model, adapters):
        return None
    adapter_of = [0] * len(prompts) if adapter_of is None else adapter_of
    lengths = [len(prompt) for prompt in prompts]
    shape = StepShape.for_call(
        counts, lengths, sampling.max_new_tokens, adapter_of, max(1, len(adapters))
    )
    size = shape.cached_tokens * llama_body.cache_bytes(model)
    if shape.slots > _MAX_SLOTS_PER_ROW * sum(counts) or size > STEP_SHARE * step_pool.total_memory(
        model.device
    ):
        return None
    steps = known.current(model, adapters)
    rows = StaticRows(steps, shape, lengths, counts, adapter_of, sampling, uniforms, greedy=greedy)
    rows.read(model, prompts, adapters)
    return rows


class StaticRows:
    """``counts[b]`` rows after a prompt of ``lengths[b]`` tokens, as of :class:`llmzoo.models.decode.Rows`."""

    def __init__(
        self,
        steps: StepPool,
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
        first_logits: Tensor | None = None  # logits [B, R, V]
        for number in sorted(set(self._adapter_of)):
            prompt_numbers = [b for b, adapter in enumerate(self._adapter_of) if adapter == number]
            if adapters:
                lora.activate(model, adapters[number])
            kept = CachedPrompts([prompts[b] for b in prompt_numbers], self._device)
            states = attention.run_with_layout(model, kept.ids, kept.positions, kept)
            places = self._indices([self._places[b] for b in prompt_numbers])
            self._step.load_prompts(places, kept.kept)
            logits = model.get_output_embeddings()(states[kept.ends])
            if first_logits is None:
                first_logits = logits.new_zeros(shape.prompts, shape.rows, logits.shape[-1])
            first_logits[places] = logits.unsqueeze(1)
        assert first_logits is not None
        self._first_logits = first_logits.flatten(0, 1)

    def grow(self, count: int) -> Tensor:
        start = self._count
        for _ in range(count):
            self._load_noise()
            if self._count:
                self._step.run()
            else:
                self._step.sample(self._first_logits)
            self._count += 1
        return self._step.samples[start : self._count].index_select(2, self._slots)

    def keep(self, rows: Sequence[int]) -> None:
        kept, old, before = self._indices(rows), self._step, self._slots
        self._numbers = self._numbers[kept]
        prompt_of = [self._prompt_of[row] for row in rows]
        counts = Counter(prompt_of)  # in ascending order, as the rows are
        lengths = [self._lengths[b] for b in counts]
        adapter_of = [self._adapter_of[b] for b in counts]
        other_places = self._indices([self._places[b] for b in counts])
        shape = StepShape.for_call(
            [*counts.values()], lengths, old.shape.new_tokens, adapter_of, old.shape.adapters
        )
        if shape.slots > _MAX_SHRUNK_SHARE * old.shape.slots:
            self._slots, self._prompt_of = before[kept], prompt_of
            return
        cached_tokens = self._count - 1  # the newest token has no keys and values yet
        self._begin(shape, lengths, [*counts.values()], adapter_of, cached_tokens)
        places = self._indices(self._places)
        self._step.copy_rows(old, self._slots, before[kept], places, other_places, cached_tokens)
        self._steps.release(old, *self._settings)

    def close(self) -> None:
        """Release the step. No call follows."""
        self._steps.release(self._step, *self._settings)

    def _begin(
        self,
        shape: StepShape,
        lengths: Sequence[int],
        counts: Sequence[int],
        adapter_of: Sequence[int],
        cached_tokens: int = 0,
    ) -> None:
        """Take a step for ``counts[b]`` rows with ``cached_tokens`` tokens after a prompt of ``lengths[b]``."""
        rows = [(b, row) for b, count in enumerate(counts) for row in range(count)]
        self._lengths, self._prompt_of = lengths, [b for b, _ in rows]
        self._adapter_of, self._places = adapter_of, shape.places(adapter_of)
        self._slots = self._indices([self._places[b] * shape.rows + row for b, row in rows])
        self._step = self._steps.take(shape, *self._settings)
        self._step.reset(dict(zip(self._places, lengths, strict=True)), cached_tokens)

    def _load_noise(self) -> None:
        """Bring the numbers of the tokens that are sampled next, as many as are drawn together."""
        numbers = self._uniforms.block(self._count)
        if numbers is not None and not self._settings[1]:
            room = self._step.shape.new_tokens - self._count
            uniforms = numbers[:room].index_select(1, self._numbers)
            into = self._step.uniforms[self._count : self._count + len(uniforms)]
            into.index_copy_(1, self._slots, uniforms)

    def _indices(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, device=self._device)
