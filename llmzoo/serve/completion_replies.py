"""Writes replies of OpenAI's API: chat completions, completions of plain texts, and their streams."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
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


class ReplyStream:
    """The same reply in chunks: texts as they grow, then the rest of each choice and its end."""

    def __init__(self, request: CompletionRequest):
        self._request = request
        kind = "text_completion" if request.call is None else "chat.completion.chunk"
        self._head = _head(request, kind)
        if request.include_usage:
            self._head["usage"] = None
        self._sent: dict[int, str] = {}  # the text so far, by choice

    def grow(self, growing: Mapping[int, Sequence[Sequence[int]]]) -> Iterator[dict[str, Any]]:
        """What is new. ``growing``: by prompt, the token ids of each completion so far."""
        request = self._request
        sampling = request.settings.sampling
        assert sampling is not None
        if request.call is not None and request.call.tools:
            return  # whether a text calls tools shows at its end
        for number, rows in list(growing.items()):
            for row, ids in enumerate(rows):
                text = request.model.growing_text(
                    list(ids), sampling.stop, plain=request.call is None
                )
                new = self._unsent(number * request.n + row, text)
                if new:
                    yield self._chunk({"index": number * request.n + row}, new)

    def finish(self, groups: Sequence[Sequence[Completion]]) -> Iterator[dict[str, Any]]:
        """The rest, when all is complete. ``groups``: the completions of each prompt."""
        for choice in _choices(self._request, groups):
            index, reason = choice["index"], choice["finish_reason"]
            whole = choice["text"] if self._request.call is None else choice["message"]
            rest = {"index": index, "logprobs": choice["logprobs"]}
            if self._request.call is None:
                yield self._chunk(rest, self._unsent(index, whole))
            else:
                calls = [{"index": i, **c} for i, c in enumerate(whole.get("tool_calls", ()))]
                more = {"tool_calls": calls} if calls else {}
                yield self._chunk(rest, self._unsent(index, whole["content"] or ""), more)
            yield self._chunk({"index": index}, "", end=reason)
        if self._request.include_usage:
            yield {**self._head, "choices": [], "usage": _usage(self._request, groups)}

    def _unsent(self, index: int, text: str) -> str:
        """The part of a choice's text that was not sent yet, which is sent now."""
        before = self._sent.get(index, "")
        if not text.startswith(before):
            return ""
        self._sent[index] = text
        return text[len(before) :]

    def _chunk(
        self,
        choice: Mapping[str, Any],
        text: str,
        more: Mapping[str, Any] | None = None,
        *,
        end: str | None = None,
    ) -> dict[str, Any]:
        made = {"logprobs": None, "finish_reason": end, **choice}
        if self._request.call is None:
            made["text"] = text
        else:
            made["delta"] = {} if end else {"role": "assistant", "content": text, **(more or {})}
        return {**self._head, "choices": [made]}


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
            "bytes": None if not text or "\ufffd" in text else list(text.encode()),
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
