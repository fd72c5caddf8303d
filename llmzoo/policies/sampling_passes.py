"""Sampling in as many passes as the memory needs: with a model, or with a separate sampler."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from llmzoo.distributed import sharding
from llmzoo.errors import MaxRowsWarning, OutOfMemoryError
from llmzoo.models import step_pool
from llmzoo.models.decode import OnFinished, SampledTokens, sample
from llmzoo.models.memory import explain_out_of_memory
from llmzoo.models.packing import split_into_packs
from llmzoo.policies.base import OnGrowth
from llmzoo.policies.settings import Sampling

if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy

# read in one pass: their keys and values stay in memory, 3 GB for a model of 135 million weights
PROMPT_TOKENS_PER_PASS = 2**16
_MAX_ROWS_HINT = (
    "max_rows is an option of TransformersPolicy. In a run, lower max_new_tokens, episodes_per_step "
    "or the learner's group_size."
)


def sample_in_passes(
    policies: Sequence[TransformersPolicy],
    prompts: Sequence[tuple[int, ...]],
    group_size: int,
    sampling: Sampling,
    keys: Sequence[int],
    greedy: bool,
    on_finished: OnFinished,
    cancelled: Sequence[Event | None],
    on_growth: Sequence[OnGrowth | None],
) -> None:
    """Sample K rows per prompt with the sampler, or else with the model, ``max_rows`` and prompts
    of :data:`PROMPT_TOKENS_PER_PASS` at once. Prompts of one adapter are neighbours.

    A prompt's rows are passed to ``on_finished``, with its index, as soon as they are complete or
    its event in ``cancelled`` is set. The ids of rows that grow are passed to the prompt's function in
    ``on_growth``; a separate sampler passes none. Raises :class:`llmzoo.errors.OutOfMemoryError`.
    """
    first = policies[0]
    if first.sampler is not None:
        batch = first.sampler.sample(prompts, group_size, sampling, keys=keys, greedy=greedy)
        for n, rows in enumerate(batch):
            on_finished(n, rows)
        return
    at_once = max(1, first.max_rows // group_size)
    parts = deque(
        pack[start : start + at_once]
        for pack in split_into_packs([len(prompt) for prompt in prompts], PROMPT_TOKENS_PER_PASS)
        for start in range(0, len(pack), at_once)
    )
    with first.ready():
        while parts:
            part = parts.popleft()
            count, here = len(part) * group_size, slice(part.start, part.stop)
            adapters = [policy.adapter or "" for policy in policies[here]]
            names = sorted(set(adapters))
            finished: list[int] = []
            try:
                with explain_out_of_memory(
                    "max_rows", count, f"Sampling from {first.name!r}", _MAX_ROWS_HINT
                ):
                    sample(
                        first.model,
                        prompts[here],
                        group_size,
                        sampling,
                        eos_ids=first.eos_ids,
                        pad_id=first.pad_id,
                        keys=keys[here],
                        greedy=greedy,
                        cuda_graphs=first.cuda_graphs,
                        adapters=names if len(names) > 1 else (),
                        adapter_of=[names.index(adapter) for adapter in adapters],
                        has_stopped=first.stop_condition(sampling),
                        on_finished=partial(_finish_with_offset, on_finished, part.start, finished),
                        cancelled=_cancellation_check(cancelled[here]),
                        on_growth=_growth_listener(on_growth[here]),
                    )
            except OutOfMemoryError:
                # ranks that share weights must make the same passes
                if finished or len(part) == 1 or sharding.is_sharded(first.model):
                    raise
                half = len(part) // 2
                _lower_max_rows(first, count, half * group_size)
                parts.extendleft([part[half:], part[:half]])


def _lower_max_rows(policy: TransformersPolicy, count: int, fitting: int) -> None:
    """Sample fewer rows at once from now on, which changes no completion."""
    step_pool.drop_idle_steps()
    policy.max_rows = fitting
    warnings.warn(
        f"Sampling {count} rows from {policy.name!r} at once does not fit into the GPU's memory. "
        f"max_rows is {fitting} from now on; the completions stay the same.",
        MaxRowsWarning,
        stacklevel=2,
    )


def _finish_with_offset(
    on_finished: OnFinished,
    start: int,
    finished: list[int],
    number: int,
    rows: list[SampledTokens],
) -> None:
    """Call ``on_finished`` with an index counted over all passes, and note it in ``finished``."""
    finished.append(start + number)
    on_finished(start + number, rows)


def _cancellation_check(events: Sequence[Event | None]) -> Callable[[int], bool] | None:
    """A function that tells whether a prompt's event is set; None if no prompt has one."""
    if all(event is None for event in events):
        return None

    def is_set(number: int) -> bool:
        event = events[number]
        return event is not None and event.is_set()

    return is_set


def _growth_listener(listeners: Sequence[OnGrowth | None]) -> OnFinished | None:
    """A function that passes a prompt's growing rows to its listener; None if no prompt has one."""
    if all(listener is None for listener in listeners):
        return None

    def on_growth(number: int, rows: list[SampledTokens]) -> None:
        listener = listeners[number]
        if listener is not None:
            listener([row.ids for row in rows])

    return on_growth
