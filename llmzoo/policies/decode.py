"""Sampling from a causal language model, K completions per prompt.

Each distinct prompt is read once. Rows that have ended leave the batch, so a single long answer does
not slow down the others.

Shapes: N rows alive, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor

from llmzoo.errors import LlmzooError
from llmzoo.policies import attention
from llmzoo.policies.padded import CacheDecoder
from llmzoo.policies.prefix import SharedPrefixDecoder
from llmzoo.policies.sampling import Sampling, Uniforms, draw, warp

_COMPACT_BELOW = 0.85  # share of rows alive below which copying the rest into a smaller batch pays


@dataclass(slots=True)
class Tokens:
    """One sampled row: ids and log-probabilities as sampled, end-of-sequence included."""

    ids: list[int]
    logprobs: list[float]
    ended: bool  # with the end-of-sequence token or a stop string, not at the token limit


class Decoder(Protocol):
    """Rows of tokens that a model continues together, one token at a time."""

    logits: Tensor  # [N, V] of each row's next token

    def step(self, tokens: Tensor) -> None:
        """Append a token [N] to each row."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows: indices [M] in ascending order."""
        ...


Finished = Callable[[int, list[Tokens]], None]  # a prompt's index, and its rows


def _ignore(prompt: int, rows: list[Tokens]) -> None:
    """The default of ``finished``: the caller waits for all rows."""


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
    stopped: Callable[[list[int]], bool] | None = None,
    finished: Finished = _ignore,
    given_up: Callable[[int], bool] | None = None,
) -> list[list[Tokens]]:
    """Sample K rows for each prompt.

    ``keys``: one number per prompt. It fixes the prompt's noise, whatever else is in the batch.
    ``stopped(ids)``: whether a stop string has appeared. ``finished``: called once per prompt, as
    soon as all its rows are complete. ``given_up(prompt)``: asked before each token; if true, the
    prompt's rows stay unfinished. Equal neighbouring prompts are read once.
    """
    runs = [(prompt, len(list(same))) for prompt, same in groupby(map(tuple, prompts))]
    decoder = _decoder(model, runs, group_size, sampling.max_new_tokens, pad_id)
    uniforms = Uniforms(keys, group_size, model.device)
    growth = _Growth(len(prompts), group_size, set(eos_ids), stopped, finished)
    alive = list(range(len(growth.rows)))  # the index in ``growth.rows`` of each row of the batch
    alive_N = torch.arange(len(alive), device=model.device)  # the same on the device
    for step in range(sampling.max_new_tokens):
        logprobs_NV = warp(decoder.logits, sampling)
        if greedy:
            token_N = logprobs_NV.argmax(dim=-1)
        else:
            token_N = draw(logprobs_NV, uniforms.at(step)[alive_N])
        logprob_N = logprobs_NV.gather(-1, token_N.unsqueeze(-1)).squeeze(-1)
        growth.append(alive, token_N.tolist(), logprob_N.tolist())
        left = growth.unfinished(alive, given_up)
        if not left or step + 1 == sampling.max_new_tokens:
            break
        if len(left) < _COMPACT_BELOW * len(alive):
            kept = torch.tensor(left, device=model.device)
            decoder.keep(kept)
            token_N, alive_N = token_N[kept], alive_N[kept]
            alive = [alive[n] for n in left]
        decoder.step(token_N)
    return growth.finish()


class _Growth:
    """The growing rows of all prompts, ``group_size`` per prompt."""

    def __init__(
        self,
        prompts: int,
        group_size: int,
        eos: set[int],
        stopped: Callable[[list[int]], bool] | None,
        finished: Finished,
    ):
        self.rows = [Tokens([], [], False) for _ in range(prompts * group_size)]
        self._growing = [group_size] * prompts  # the number of unfinished rows of each prompt
        self._group_size, self._eos = group_size, eos
        self._stopped, self._finished = stopped, finished

    def append(self, alive: list[int], tokens: list[int], logprobs: list[float]) -> None:
        """Append a token to each row of ``alive`` that has not ended."""
        for at, token, logprob in zip(alive, tokens, logprobs, strict=True):
            row = self.rows[at]
            if row.ended:
                continue
            row.ids.append(token)
            row.logprobs.append(logprob)
            row.ended = token in self._eos or (self._stopped is not None and self._stopped(row.ids))
            if row.ended:
                prompt = at // self._group_size
                self._growing[prompt] -= 1
                if not self._growing[prompt]:
                    self._finished(prompt, self._of(prompt))

    def unfinished(self, alive: list[int], given_up: Callable[[int], bool] | None) -> list[int]:
        """The positions in ``alive`` of the rows that must go on."""
        gone: set[int] = set()
        if given_up is not None:
            gone = {prompt for prompt, n in enumerate(self._growing) if n and given_up(prompt)}
        k = self._group_size
        return [n for n, at in enumerate(alive) if not self.rows[at].ended and at // k not in gone]

    def finish(self) -> list[list[Tokens]]:
        """The rows of each prompt. Reports those cut off by the token limit or given up."""
        for prompt, growing in enumerate(self._growing):
            if growing:
                self._finished(prompt, self._of(prompt))
        return [self._of(prompt) for prompt in range(len(self._growing))]

    def _of(self, prompt: int) -> list[Tokens]:
        return self.rows[prompt * self._group_size : (prompt + 1) * self._group_size]


def _decoder(
    model: Any, runs: Sequence[tuple[tuple[int, ...], int]], group_size: int, room: int, pad_id: int
) -> Decoder:
    """A decoder of ``count * group_size`` rows per prompt; with shared prefixes if the model allows."""
    prompts, counts = [prompt for prompt, _ in runs], [count * group_size for _, count in runs]
    if attention.supported(model.config):
        return SharedPrefixDecoder(model, prompts, counts, room)
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
        """The maximum number of tokens of a prompt and its answer together."""
        ...

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        group_size: int,
        sampling: Sampling,
        *,
        keys: Sequence[int],
        greedy: bool = False,
    ) -> list[list[Tokens]]:
        """Sample ``group_size`` rows for each prompt. Ids include the token that ended the row.

        Log-probabilities are under the sampling distribution. ``keys``: one number per prompt. It
        fixes the prompt's noise, whatever else is in the batch. Raises :class:`SamplerError`.
        """
        ...

    def sync(self) -> None:
        """Take over the policy's current weights and discard everything computed with older ones."""
        ...

    def rest(self) -> None:
        """Free memory until the next call, because the weights are about to change."""
        ...

    def close(self) -> None:
        """Free all resources. No call follows."""
        ...
