"""A prompt's request to vLLM, and its answer as rows.

The names are those of ``vllm.SamplingParams`` and of ``/v1/completions``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from typing import Any

from llmzoo.models.decode import SampledTokens, SamplerError
from llmzoo.models.sampling import Sampling

_ENDED_BY_REASON = {"stop": True, "length": False}


def vllm_seed(key: int) -> int:
    """vLLM's seed for the noise key of a prompt: a 62-bit hash, which fits its signed 64 bits.

    vLLM samples the i-th of n answers with the seed + i (``ParentRequest`` in its
    ``v1/engine/parallel_sampling.py``), so consecutive keys without a hash would share their noise.
    """
    digest = hashlib.blake2b(str(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def sampling_params(
    group_size: int, sampling: Sampling, *, eos_ids: Collection[int], key: int, greedy: bool
) -> dict[str, Any]:
    """The request for ``group_size`` answers of one prompt.

    It sets everything that a model's generation settings could change. vLLM's end-of-sequence
    handling is switched off, and ours are stop tokens, which stay in the row. ``logprobs=0`` returns
    the log-probability of the sampled token. For greedy rows, it is at temperature 1 and unfiltered.
    """
    return {
        "n": group_size,
        "temperature": 0.0 if greedy else sampling.temperature,
        "top_p": 1.0 if greedy else sampling.top_p,
        "top_k": 0 if greedy else sampling.top_k,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_tokens": sampling.max_new_tokens,
        "stop": list(sampling.stop),
        "stop_token_ids": sorted(eos_ids),
        "ignore_eos": True,
        "logprobs": 0,
        "seed": vllm_seed(key),
    }


def tokens_from_answer(
    ids: Sequence[int], logprobs: Sequence[float], finish_reason: str | None
) -> SampledTokens:
    """One answer as a row. Raises :class:`SamplerError` if it is unfinished or has invalid numbers."""
    if finish_reason not in _ENDED_BY_REASON:
        raise SamplerError(f"vLLM did not finish an answer: finish_reason is {finish_reason!r}")
    if len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
        raise SamplerError(f"vLLM gave {len(ids)} tokens with log-probabilities {logprobs}")
    return SampledTokens(list(ids), list(logprobs), _ENDED_BY_REASON[finish_reason])
