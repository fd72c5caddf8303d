"""Sampling from a causal language model, K completions a prompt.

Each distinct prompt is read once. Rows that have ended are taken out of the batch, so that the last
long answer does not drag the others along.

Shapes: N rows alive, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor

from llmzoo.policies import attention
from llmzoo.policies.noise import Uniforms
from llmzoo.policies.padded import CacheDecoder
from llmzoo.policies.prefix import SharedPrefixDecoder
from llmzoo.policies.sampling import Sampling, draw, warp

_COMPACT_BELOW = 0.85  # share of rows alive: fewer, and copying what is kept of them pays


@dataclass(slots=True)
class Tokens:
    """One sampled row: ids and log-probabilities as sampled, end-of-sequence included."""

    ids: list[int]
    logprobs: list[float]
    ended: bool  # by the end-of-sequence token or a stop string, rather than by the token limit


class Decoder(Protocol):
    """Rows of tokens that a model continues, all by one token at a time."""

    logits: Tensor  # [N, V] of each row's next token

    def step(self, tokens: Tensor) -> None:
        """Each row takes its next token [N]."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows only, numbers [M] in rising order."""
        ...


Finished = Callable[[int, list[Tokens]], None]  # the number of a prompt, and its rows


def _unheard(prompt: int, rows: list[Tokens]) -> None:
    """Nobody waits for a prompt's rows before the end."""


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
    finished: Finished = _unheard,
    given_up: Callable[[int], bool] | None = None,
) -> list[list[Tokens]]:
    """K sampled rows for each prompt.

    ``keys``: a number for each prompt that fixes its noise, whatever else is sampled beside it.
    ``stopped(ids)`` says whether a stop string has appeared. ``finished`` is called once for each
    prompt, as soon as all its rows are complete. ``given_up(prompt)`` says, before each token, that
    nobody waits for a prompt any more: its rows stay as they are. Equal prompts that stand side by
    side are read as one.
    """
    runs = [(prompt, len(list(same))) for prompt, same in groupby(map(tuple, prompts))]
    decoder = _decoder(model, runs, group_size, sampling.max_new_tokens, pad_id)
    uniforms = Uniforms(keys, group_size, model.device)
    rows = [Tokens([], [], False) for _ in range(len(prompts) * group_size)]
    alive = list(range(len(rows)))  # which of ``rows`` each row of the batch writes
    place_N = torch.arange(len(rows), device=model.device)  # the same
    unended = [group_size] * len(prompts)  # rows of each prompt
    eos = set(eos_ids)
    for step in range(sampling.max_new_tokens):
        logprobs_NV = warp(decoder.logits, sampling)
        if greedy:
            token_N = logprobs_NV.argmax(dim=-1)
        else:
            token_N = draw(logprobs_NV, uniforms.at(step)[place_N])
        logprob_N = logprobs_NV.gather(-1, token_N.unsqueeze(-1)).squeeze(-1)
        for at, token, logprob in zip(alive, token_N.tolist(), logprob_N.tolist(), strict=True):
            row = rows[at]
            if not row.ended:
                row.ids.append(token)
                row.logprobs.append(logprob)
                row.ended = token in eos or (stopped is not None and stopped(row.ids))
                unended[at // group_size] -= row.ended
                if not unended[at // group_size]:
                    finished(
                        at // group_size,
                        rows[at - at % group_size : at - at % group_size + group_size],
                    )
        gone: set[int] = set()
        if given_up is not None:
            gone = {b for b, count in enumerate(unended) if count and given_up(b)}
        left = [
            n for n, at in enumerate(alive) if not rows[at].ended and at // group_size not in gone
        ]
        if not left or step + 1 == sampling.max_new_tokens:
            break
        if len(left) < _COMPACT_BELOW * len(alive):
            kept = torch.tensor(left, device=model.device)
            decoder.keep(kept)
            token_N, place_N = token_N[kept], place_N[kept]
            alive = [alive[n] for n in left]
        decoder.step(token_N)
    completions = [rows[b * group_size : (b + 1) * group_size] for b in range(len(prompts))]
    for b, count in enumerate(unended):
        if count:  # the token limit cut it off, or it was given up
            finished(b, completions[b])
    return completions


def _decoder(
    model: Any, runs: Sequence[tuple[tuple[int, ...], int]], group_size: int, room: int, pad_id: int
) -> Decoder:
    """Rows for each prompt, which stands ``count`` times: through layouts, where the model can."""
    prompts, counts = [prompt for prompt, _ in runs], [count * group_size for _, count in runs]
    if attention.supported(model.config):
        return SharedPrefixDecoder(model, prompts, counts, room)
    return CacheDecoder(model, prompts, counts, pad_id)
