"""Sampling from a causal language model, K completions per prompt.

Each distinct prompt is read once. Rows that have ended leave the batch, so a single long completion does
not slow down the others.

A GPU computes while the host prepares the next operations, until the host asks for a number. So the
host reads the tokens of several steps at once, and only after it has started the next ones. Rows may
then grow beyond their end; the surplus is cut off. Noise belongs to a row and a step, so this changes
no completion.

Shapes: N rows alive, V vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from llmzoo.errors import LlmzooError
from llmzoo.models import attention, lora, recurrent
from llmzoo.models.dynamic_rows import Decoder, DynamicRows
from llmzoo.models.padded import CacheDecoder
from llmzoo.models.prefix import SharedPrefixDecoder
from llmzoo.models.sampling import Sampling, Uniforms
from llmzoo.models.static_rows import make_static_rows

_COMPACT_BELOW = 0.85  # share of rows alive below which copying the rest into a smaller batch pays
# steps between two reads: at first few, so that short completions end soon, then twice as many each time
_FIRST_READ, _READ_EVERY = 2, 8


@dataclass(slots=True)
class SampledTokens:
    """One sampled row: ids and log-probabilities as sampled, end-of-sequence included."""

    ids: list[int]
    logprobs: list[float]
    ended: bool  # with the end-of-sequence token or a stop string, not at the token limit


class Rows(Protocol):
    """N rows of tokens that grow together."""

    def grow(self, count: int) -> Tensor:
        """Sample ``count`` tokens more for each row: [count, 2, N], tokens and log-probabilities, float64."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows: indices in ascending order."""
        ...

    def close(self) -> None:
        """Free what they hold. No call follows."""
        ...


OnFinished = Callable[[int, list[SampledTokens]], None]  # a prompt's index, and its rows
Result = TypeVar("Result")


def _ignore_finished(prompt: int, rows: list[SampledTokens]) -> None:
    """The default of ``on_finished``: the caller waits for all rows."""


@torch.inference_mode()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    group_size: int,
    sampling: Sampling,
    *,
    eos_ids: Collection[int],
    pad_id: int,
    keys: Sequence[int],
    greedy: bool = False,
    cuda_graphs: bool = True,
    adapters: Sequence[str] = (),
    adapter_of: Sequence[int] | None = None,
    has_stopped: Callable[[list[int]], bool] | None = None,
    on_finished: OnFinished = _ignore_finished,
    cancelled: Callable[[int], bool] | None = None,
    on_growth: OnFinished | None = None,
) -> list[list[SampledTokens]]:
    """Sample K rows for each prompt.

    ``keys``: one number per prompt. It fixes the prompt's noise, whatever else is in the batch.
    ``has_stopped(ids)``: whether a stop string has appeared. ``on_finished``: called once per prompt, as
    soon as all its rows are known to be complete. ``cancelled(prompt)``: asked for each token; if
    true, the prompt's rows stay unfinished. ``on_growth``: called with a prompt and its rows after each
    read in which they have grown and not ended. Equal neighbouring prompts are read once. ``cuda_graphs``: on
    a GPU, sample by :mod:`llmzoo.models.static_rows` if it fits the model. ``adapters``: the names of
    several in alphabetical order, which share a step where it is static; by default the model samples as it
    computes. ``adapter_of``: which of them each prompt has, in ascending order.
    """
    adapter_of = [0] * len(prompts) if adapter_of is None else adapter_of
    runs = [
        (adapter, prompt, len(list(same)))
        for (adapter, prompt), same in groupby(zip(adapter_of, map(tuple, prompts), strict=True))
    ]
    uniforms = Uniforms(keys, group_size, model.device)
    prompts_read, counts = [prompt for _, prompt, _ in runs], [n * group_size for *_, n in runs]
    rows: Rows | None = None
    if cuda_graphs and attention.is_supported(model.config):
        rows = make_static_rows(
            model,
            prompts_read,
            counts,
            sampling,
            uniforms,
            greedy=greedy,
            adapters=adapters,
            adapter_of=[adapter for adapter, _, _ in runs],
        )
    if rows is None and len(adapters) > 1:
        sampled_rows = []
        for number in sorted(set(adapter_of)):
            lora.activate(model, adapters[number])
            first, count = adapter_of.index(number), adapter_of.count(number)
            own = slice(first, first + count)
            sampled_rows += sample(
                model,
                prompts[own],
                group_size,
                sampling,
                eos_ids=eos_ids,
                pad_id=pad_id,
                keys=keys[own],
                greedy=greedy,
                cuda_graphs=cuda_graphs,
                has_stopped=has_stopped,
                on_finished=_with_offset(on_finished, first),
                cancelled=None if cancelled is None else _with_offset(cancelled, first),
                on_growth=None if on_growth is None else _with_offset(on_growth, first),
            )
        return sampled_rows
    if rows is None:
        decoder = _make_decoder(model, prompts_read, counts, sampling.max_new_tokens, pad_id)
        rows = DynamicRows(decoder, sampling, uniforms, greedy=greedy)
    growth = _GrowingRows(
        len(prompts), group_size, set(eos_ids), has_stopped, on_finished, cancelled, on_growth
    )
    batch = growth.alive
    on_cpu = model.device.type == "cpu"  # where a read costs nothing
    left, count = sampling.max_new_tokens, 1 if on_cpu else _FIRST_READ
    unread: deque[tuple[Sequence[int], Callable[[], Any]]] = deque()
    while growth.alive and (left or unread):
        if left:
            count = min(count, left)
            unread.append((batch, _copy_to_host(rows.grow(count))))
            left, count = left - count, 1 if on_cpu else min(2 * count, _READ_EVERY)
        if on_cpu or not left or len(unread) > 1:
            grown, read = unread.popleft()
            growth.append(grown, read())
            if left and 0 < len(growth.alive) < len(batch):
                alive = set(growth.alive)
                rows.keep([n for n, row in enumerate(batch) if row in alive])
                batch = growth.alive
    rows.close()
    return growth.finish()


def _with_offset(call: Callable[..., Result], first: int) -> Callable[..., Result]:
    """``call``, whose first argument counts prompts, for the prompts from ``first`` on."""
    return lambda prompt, *rows: call(first + prompt, *rows)


def _copy_to_host(tensor: Tensor) -> Callable[[], Any]:
    """Start copying a tensor to the host. The function returned waits for the copy and returns the numbers."""
    if tensor.device.type == "cpu":
        return tensor.tolist
    host_copy = tensor.to("cpu", non_blocking=True)
    copy_done = torch.cuda.Event()
    copy_done.record(torch.cuda.current_stream(tensor.device))

    def wait_and_read() -> Any:
        copy_done.synchronize()
        return host_copy.tolist()

    return wait_and_read


class _GrowingRows:
    """The growing rows of all prompts, ``group_size`` per prompt.

    ``alive``: the indices of the rows to sample for. Rows that have ended leave it in groups, since
    to copy the rest costs time too. It is empty as soon as no row needs another token.
    """

    def __init__(
        self,
        prompts: int,
        group_size: int,
        eos: set[int],
        has_stopped: Callable[[list[int]], bool] | None,
        on_finished: OnFinished,
        cancelled: Callable[[int], bool] | None,
        on_growth: OnFinished | None,
    ):
        self.rows = [SampledTokens([], [], False) for _ in range(prompts * group_size)]
        self.alive = list(range(len(self.rows)))
        self._growing = [group_size] * prompts  # the number of unfinished rows of each prompt
        self._group_size, self._eos = group_size, eos
        self._stopped, self._on_finished, self._cancelled = has_stopped, on_finished, cancelled
        self._on_growth = on_growth

    def append(self, batch: Sequence[int], steps: Sequence[Sequence[Sequence[float]]]) -> None:
        """Append what was sampled in some steps for the rows of ``batch``.

        ``steps``: the tokens and the log-probabilities of each step. What a row that has ended, or
        left, was sampled further is dropped.
        """
        for tokens, logprobs in steps:
            sampled = dict(zip(batch, zip(tokens, logprobs, strict=True), strict=True))
            for at in self.alive:
                if not self.rows[at].ended:
                    token, logprob = sampled[at]
                    self._append(at, int(token), logprob)
            left = self._rows_to_continue()
            if not left or len(left) < _COMPACT_BELOW * len(self.alive):
                self.alive = left
            if not left:
                return
        if self._on_growth is not None:
            for prompt in {at // self._group_size for at in self.alive}:
                if self._growing[prompt]:
                    self._on_growth(prompt, self._rows_of_prompt(prompt))

    def _append(self, at: int, token: int, logprob: float) -> None:
        row = self.rows[at]
        row.ids.append(token)
        row.logprobs.append(logprob)
        row.ended = token in self._eos or (self._stopped is not None and self._stopped(row.ids))
        if row.ended:
            prompt = at // self._group_size
            self._growing[prompt] -= 1
            if not self._growing[prompt]:
                self._on_finished(prompt, self._rows_of_prompt(prompt))

    def _rows_to_continue(self) -> list[int]:
        """The rows of ``alive`` that continue."""
        gone: set[int] = set()
        if self._cancelled is not None:
            gone = {
                prompt for prompt, n in enumerate(self._growing) if n and self._cancelled(prompt)
            }
        k = self._group_size
        return [at for at in self.alive if not self.rows[at].ended and at // k not in gone]

    def finish(self) -> list[list[SampledTokens]]:
        """The rows of each prompt. Reports those that the token limit or ``cancelled`` ended."""
        for prompt, growing in enumerate(self._growing):
            if growing:
                self._on_finished(prompt, self._rows_of_prompt(prompt))
        return [self._rows_of_prompt(prompt) for prompt in range(len(self._growing))]

    def _rows_of_prompt(self, prompt: int) -> list[SampledTokens]:
        return self.rows[prompt * self._group_size : (prompt + 1) * self._group_size]


def _make_decoder(
    model: Any, prompts: Sequence[tuple[int, ...]], counts: Sequence[int], room: int, pad_id: int
) -> Decoder:
    """A decoder of ``counts[b]`` rows after ``prompts[b]``; with shared prefixes if the model allows."""
    if attention.is_supported(model.config):
        return SharedPrefixDecoder(model, prompts, counts, room)
    if recurrent.carries_state(model):
        return recurrent.RereadDecoder(model, prompts, counts)
    return CacheDecoder(model, prompts, counts, pad_id)


class SamplerError(LlmzooError, RuntimeError):
    """A sampling engine failed. The run can be resumed."""


class Sampler(Protocol):
    """An engine that samples for one policy from a copy of its weights.

    Without one, a :class:`llmzoo.policies.transformers.TransformersPolicy` samples with its own
    model. Likelihoods, training and checkpoints always use the policy's own weights, so the engine
    must be told when they change.
    """

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its completion together."""
        ...

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int,
        sampling: Sampling,
        *,
        keys: Sequence[int],
        greedy: bool = False,
    ) -> list[list[SampledTokens]]:
        """Sample ``group_size`` rows for each prompt. Ids include the token that ended the row.

        Log-probabilities are under the sampling distribution. ``keys``: one number per prompt. It
        fixes the prompt's noise, whatever else is in the batch. Raises :class:`SamplerError`.
        """
        ...

    def sync_weights(self) -> None:
        """Take over the policy's current weights and discard everything computed with older ones."""
        ...

    def rest(self) -> None:
        """Free memory until the next call, because the weights are about to change."""
        ...

    def close(self) -> None:
        """Free all resources. No call follows."""
        ...
