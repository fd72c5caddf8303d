"""The client that a program calls, in the shape of OpenAI's."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol

from llmzoo.envs.programs.messages import (
    ChatCompletion,
    ChatCompletionChunk,
    ProgramCall,
    find_agent,
    make_completion,
    to_json_data,
    validate_messages,
)
from llmzoo.errors import ConfigError, UnknownNameError

# a policy's own settings decide these, so that training and play sample alike
_OF_THE_POLICY = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "user", "timeout"}
    | {"presence_penalty", "frequency_penalty", "parallel_tool_calls", "tool_choice", "metadata"}
    | {"logit_bias", "response_format", "service_tier", "reasoning_effort", "store"}
    | {"stream_options"}
)
_MOST_CHOICES = 64


class CallHandler(Protocol):
    """What answers calls: a running program."""

    agents: Sequence[str]
    seed: int

    def ask(self, call: ProgramCall, count: int) -> list[str]: ...
    async def ask_async(self, call: ProgramCall, count: int) -> list[str]: ...
    def wait_closed(self, seconds: float) -> bool: ...
    def add_reward(self, reward: float | Mapping[str, float]) -> None: ...


class Client:
    """Given to a program: ``client.chat.completions.create(model="coder", messages=[...])``.

    ``model`` is the agent that answers. ``aio`` is the same client for ``await``. ``stop``, ``tools``,
    ``n`` and ``stream`` work as in OpenAI's; ``temperature``, ``max_tokens`` and the like are the
    policies' own and ignored. ``random`` is seeded by the episode. ``reward`` pays for what was
    answered so far, a number to all agents or a mapping from agents to numbers.
    """

    def __init__(self, handler: CallHandler):
        self.handler = handler
        self.chat = _Chat(_Completions(handler))
        self.aio = _AsyncClient(_Chat(_AsyncCompletions(handler)))
        self.random = random.Random(handler.seed)

    def reward(self, reward: float | Mapping[str, float]) -> None:
        """Pay before the program ends, at the step that is being taken."""
        self.handler.add_reward(reward)


class _AsyncClient:
    def __init__(self, chat: _Chat):
        self.chat = chat


class _Chat:
    def __init__(self, completions: Any):
        self.completions = completions


class _Completions:
    def __init__(self, handler: CallHandler):
        self._handler = handler
        self._made = 0

    def create(
        self,
        *,
        model: str,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        stop: str | Sequence[str] | None = None,
        n: int = 1,
        stream: bool = False,
        **settings: Any,
    ) -> ChatCompletion | Iterator[ChatCompletionChunk]:
        """Ask ``model`` for ``n`` answers. Raises :class:`UnknownNameError` for an agent or a setting
        that is not known, and :class:`ConfigError` for messages that are no conversation."""
        call = _make_call(self._handler, model, messages, tools, stop, n, settings)
        reply = self._reply(call, self._handler.ask(call, n))
        return reply.chunks() if stream else reply

    def _reply(self, call: ProgramCall, texts: Sequence[str]) -> ChatCompletion:
        self._made += 1
        return make_completion(call, texts, self._made)


class _AsyncCompletions(_Completions):
    async def create(  # type: ignore[override]
        self,
        *,
        model: str,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        stop: str | Sequence[str] | None = None,
        n: int = 1,
        stream: bool = False,
        **settings: Any,
    ) -> ChatCompletion | AsyncIterator[ChatCompletionChunk]:
        """As in the client that does not wait."""
        call = _make_call(self._handler, model, messages, tools, stop, n, settings)
        reply = self._reply(call, await self._handler.ask_async(call, n))
        return _stream(reply) if stream else reply


async def _stream(reply: ChatCompletion) -> AsyncIterator[ChatCompletionChunk]:
    for chunk in reply.chunks():
        yield chunk


def _make_call(
    handler: CallHandler,
    model: str,
    messages: Sequence[Any],
    tools: Sequence[Mapping[str, Any]] | None,
    stop: str | Sequence[str] | None,
    n: int,
    settings: Mapping[str, Any],
) -> ProgramCall:
    agent = find_agent(model, handler.agents)
    for name in settings:
        if name not in _OF_THE_POLICY:
            known = {"model", "messages", "tools", "stop", "n", "stream"} | _OF_THE_POLICY
            raise UnknownNameError("setting of a call", name, known)
    if settings.get("response_format") not in (None, {"type": "text"}):
        raise ConfigError(
            "response_format: a policy writes text and is held to no schema; ask for the form in messages"
        )
    if not isinstance(n, int) or not 1 <= n <= _MOST_CHOICES:
        raise ConfigError(f"n is a number of answers from 1 to {_MOST_CHOICES}, got {n!r}")
    stops = (stop,) if isinstance(stop, str) else tuple(stop or ())
    if not all(isinstance(text, str) for text in stops):
        raise ConfigError(f"stop is a text or several, got {stop!r:.80}")
    schemas = to_json_data(tools or [], "tools")
    if not isinstance(schemas, list) or not all(isinstance(schema, dict) for schema in schemas):
        raise ConfigError(f"tools is a list of JSON schemas, got {tools!r:.80}")
    return ProgramCall(
        agent, validate_messages(messages), tuple(schemas), tuple(text for text in stops if text)
    )
