"""Writes replies of OpenAI's API: chat completions, completions of plain texts, and their streams."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate
from typing import Any

from llmzoo.envs.programs.messages import make_choice
from llmzoo.records import Completion
from llmzoo.serve.completion_requests import CompletionRequest

_LEAST_LOGPROB = -9999.0  # JSON has no infinity


def make_reply(
    request: CompletionRequest, groups: Sequence[Sequence[Completion]]
) -> dict[str, Any]:
    """The reply to a request. ``groups``: the completions of each prompt."""
    kind = "text_completion" if request.call is None else "chat.completion"
    return {
        **_head(request, kind),
        "choices": list(_choices(request, groups)),
        "usage": _usage(request, groups),
    }


def make_chunks(
    request: CompletionRequest, groups: Sequence[Sequence[Completion]]
) -> Iterator[dict[str, Any]]:
    """The same as a stream: for each choice a chunk with all of it, and one that ends it."""
    kind = "text_completion" if request.call is None else "chat.completion.chunk"
    head = _head(request, kind)
    if request.include_usage:
        head["usage"] = None
    for choice in _choices(request, groups):
        reason = choice.pop("finish_reason")
        last: dict[str, Any] = {"index": choice["index"], "finish_reason": reason, "logprobs": None}
        if request.call is None:
            last["text"] = ""
        else:
            message = choice.pop("message")
            calls = message.get("tool_calls", ())
            if calls:
                message["tool_calls"] = [{"index": i, **call} for i, call in enumerate(calls)]
            choice["delta"], last["delta"] = message, {}
        yield {**head, "choices": [{**choice, "finish_reason": None}]}
        yield {**head, "choices": [last]}
    if request.include_usage:
        yield {**head, "choices": [], "usage": _usage(request, groups)}


def _head(request: CompletionRequest, kind: str) -> dict[str, Any]:
    prefix = "cmpl" if request.call is None else "chatcmpl"
    return {
        "id": f"{prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model.name,
    }


def _choices(
    request: CompletionRequest, groups: Sequence[Sequence[Completion]]
) -> Iterator[dict[str, Any]]:
    index = 0
    for group in groups:
        # greedy completions of one prompt are all the same
        for completion in group if len(group) == request.n else [*group] * request.n:
            yield _choice(request, index, completion)
            index += 1


def _choice(request: CompletionRequest, index: int, completion: Completion) -> dict[str, Any]:
    reason = "length" if completion.truncated else "stop"
    logprobs = _logprobs(request, completion) if request.logprobs else None
    choice: dict[str, Any] = {"index": index, "finish_reason": reason, "logprobs": logprobs}
    if request.call is None:
        return {**choice, "text": completion.text}
    made = make_choice(request.call, index, completion.text)
    message: dict[str, Any] = {"role": "assistant", "content": made.message.content}
    if made.message.tool_calls:
        message["tool_calls"] = [asdict(call) for call in made.message.tool_calls]
        choice["finish_reason"] = made.finish_reason
    return {**choice, "message": message}


def _logprobs(request: CompletionRequest, completion: Completion) -> dict[str, Any]:
    """The log-probabilities of all tokens as sampled, thoughts and the end of sequence included."""
    texts = request.model.token_texts(completion.ids)
    logprobs = [max(logprob, _LEAST_LOGPROB) for logprob in completion.logprobs]
    if request.call is None:
        offsets = [0, *accumulate(map(len, texts))][:-1]
        return {
            "tokens": texts,
            "token_logprobs": logprobs,
            "top_logprobs": None,
            "text_offset": offsets,
        }
    content = [
        {
            "token": text,
            "logprob": logprob,
            "bytes": None if "\ufffd" in text else list(text.encode()),
            "top_logprobs": [],
        }
        for text, logprob in zip(texts, logprobs, strict=True)
    ]
    return {"content": content, "refusal": None}


def _usage(request: CompletionRequest, groups: Sequence[Sequence[Completion]]) -> dict[str, int]:
    """The numbers of tokens that were read and sampled."""
    read = sum(len(group[0].prompt_ids) for group in groups)
    sampled = sum(len(completion.ids) for group in groups for completion in group)
    return {
        "prompt_tokens": read,
        "completion_tokens": sampled,
        "total_tokens": read + sampled,
    }
