"""Answers OpenAI's API with models: chat completions, completions of plain texts, and their list."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from llmzoo.envs.programs.chat_server import describe_model, list_models
from llmzoo.envs.programs.http_server import (
    EventStream,
    Handler,
    JSONResponse,
    Request,
    RequestError,
    Response,
    Route,
    handle_errors,
    read_object,
    while_connected,
)
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.models.noise import noise_key
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Completion
from llmzoo.serve.agent_router import AgentRouter
from llmzoo.serve.batching import REMOTE_ENV_PLACEHOLDER, Batcher, PolicyCall, ServerBusyError
from llmzoo.serve.completion_replies import ReplyStream, make_reply
from llmzoo.serve.completion_requests import (
    CompletionRequest,
    parse_chat_request,
    parse_text_request,
)
from llmzoo.serve.served_models import ServedModel

# what a chat template, which is a program, may raise for messages that it does not expect
_TEMPLATE_ERRORS = (
    *(TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
)
READ_S = 10.0  # after a request's time, in which a caller may still read its end
Parse = Callable[[Mapping[str, Any], Mapping[str, ServedModel], int], CompletionRequest]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLimits:
    """What callers may ask of an endpoint.

    ``max_requests``: requests that run or wait. ``max_choices``: completions of one request, prompts times
    n. ``max_body_bytes``: size of a request. ``timeout_s``: seconds that a request may wait and run.
    """

    max_requests: int = 256
    max_choices: int = 128
    max_body_bytes: int = 2**20
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        if min(self.max_requests, self.max_choices) < 1 or self.max_body_bytes < 1024:
            raise ConfigError(
                "max_requests and max_choices are at least 1, and max_body_bytes at least 1024"
            )
        if not self.timeout_s > 0:
            raise ConfigError(f"timeout_s is above 0, got {self.timeout_s}")


class CompletionService:
    """Answers requests for ``models``. Requests that come while a model is busy are answered together.

    A request with a seed gets the same completions whatever else the server is asked, up to rounding.
    """

    def __init__(self, models: Mapping[str, ServedModel], limits: EndpointLimits | None = None):
        self.models = dict(models)
        self.limits = limits or EndpointLimits()
        router = AgentRouter({name: model.policy for name, model in models.items()})
        self.batcher = Batcher(router, calls=self.limits.max_requests)
        self._open = 0  # requests that are not answered yet; only the event loop changes it

    def routes(self) -> list[Route]:
        return [
            Route("/v1/chat/completions", self._answer(parse_chat_request), methods=["POST"]),
            Route("/v1/completions", self._answer(parse_text_request), methods=["POST"]),
            Route("/v1/models", handle_errors(self._list_models)),
            Route("/v1/models/{name:path}", handle_errors(self._describe_model)),
        ]

    def close(self) -> None:
        """End running and waiting requests, and take no more."""
        self.batcher.close()

    async def _list_models(self, request: Request) -> Response:
        return list_models([*self.models])

    async def _describe_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.models:
            why = str(UnknownNameError("model", name[:100], self.models))
            raise RequestError(404, why, param="model", code="model_not_found")
        return JSONResponse(describe_model(name))

    def _answer(self, parse: Parse) -> Handler:
        async def answer(request: Request) -> Response:
            with ExitStack() as open_request:
                open_request.enter_context(self._admit())
                body = await read_object(request, self.limits.max_body_bytes)
                completion_request = parse(body, self.models, self.limits.max_choices)
                deadline = time.monotonic() + self.limits.timeout_s
                call = await while_connected(request, self._enqueue(completion_request))
                open_request.callback(self.batcher.cancel, call)
                if completion_request.stream:
                    # a request that fails at once gets an error status, not a stream
                    await while_connected(request, self._wait_for_growth(call, deadline))
                    if call.has_ended:
                        await self._finished_groups(completion_request, call)
                    chunks = self._chunks(completion_request, call, request, deadline)
                    left = max(0.0, deadline - time.monotonic()) + READ_S
                    return EventStream(chunks, open_request.pop_all().close, left)
                while not call.has_ended:
                    await while_connected(request, self._wait_for_growth(call, deadline))
                groups = await self._finished_groups(completion_request, call)
                return JSONResponse(await asyncio.to_thread(make_reply, completion_request, groups))

        return handle_errors(answer)

    @contextmanager
    def _admit(self) -> Iterator[None]:
        """Count a request. Raises :class:`RequestError` if there are too many."""
        if self._open >= self.limits.max_requests:
            raise RequestError(
                429,
                f"{self._open} requests are open, the most that this server allows: send fewer at once, or try "
                "again later",
                code="rate_limit_exceeded",
                retry_after=1,
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def _enqueue(self, completion_request: CompletionRequest) -> PolicyCall:
        """Queue a request. Whoever cancels the call frees the model."""
        await asyncio.to_thread(_check_length, completion_request)
        seed = secrets.randbits(63) if completion_request.seed is None else completion_request.seed
        requests = [
            PolicyRequest(
                agent=completion_request.model.name,
                observation=prompt,
                env=REMOTE_ENV_PLACEHOLDER,
                key=seed if number == 0 else noise_key(seed, "prompt", number),
            )
            for number, prompt in enumerate(completion_request.prompts)
        ]
        call = PolicyCall(requests, completion_request.settings, watched=completion_request.stream)
        try:
            self.batcher.submit(call)
        except ServerBusyError as error:
            raise _unavailable(error) from error
        return call

    async def _wait_for_growth(self, call: PolicyCall, deadline: float) -> None:
        """Wait for more tokens, or the end. Raises :class:`RequestError` at the deadline."""
        left = deadline - time.monotonic()
        await call.wait_for_growth(max(0.0, left))
        if not call.has_ended and time.monotonic() >= deadline:
            raise RequestError(
                408,
                f"no completion within {self.limits.timeout_s:g} s: ask for fewer tokens, or start "
                "the server with a higher --timeout_s",
                code="request_timeout",
            )

    async def _finished_groups(
        self, completion_request: CompletionRequest, call: PolicyCall
    ) -> list[list[Completion]]:
        """The completions of each prompt, once the call has ended. Raises :class:`RequestError`."""
        try:
            return await call.groups()
        except ServerBusyError as error:
            raise _unavailable(error) from error
        except Exception as error:
            raise RequestError(
                500, f"{completion_request.model.name} failed: {error!r:.500}"
            ) from error

    async def _chunks(
        self,
        completion_request: CompletionRequest,
        call: PolicyCall,
        request: Request,
        deadline: float,
    ) -> AsyncIterator[dict[str, Any]]:
        """A reply in chunks. An error after the first one is the last chunk."""
        stream = ReplyStream(completion_request)
        try:
            while not call.has_ended:
                grown = {**call.growing}
                for chunk in await asyncio.to_thread(list, stream.grow(grown)):
                    yield chunk
                await while_connected(request, self._wait_for_growth(call, deadline))
            groups = await self._finished_groups(completion_request, call)
            for chunk in await asyncio.to_thread(list, stream.finish(groups)):
                yield chunk
        except RequestError as error:
            yield error.body()


def _unavailable(error: ServerBusyError) -> RequestError:
    return RequestError(503, str(error), code="unavailable", retry_after=1)


def _check_length(completion_request: CompletionRequest) -> None:
    """Raise :class:`RequestError` for a prompt that the model cannot read."""
    model = completion_request.model
    room = model.context - completion_request.max_new_tokens
    for prompt in completion_request.prompts:
        try:
            tokens = model.count_tokens(prompt)
        except _TEMPLATE_ERRORS as error:
            raise RequestError(
                400, f"{model.name} cannot read this prompt: {error!s:.500}", param="messages"
            ) from error
        if not 0 < tokens <= room:
            raise RequestError(
                400,
                f"a prompt of {tokens} tokens and max_tokens={completion_request.max_new_tokens} do not fit the "
                f"context length of {model.name}, {model.context} tokens: a prompt has 1 to {room} "
                "tokens here, so shorten it or lower max_tokens",
                code="context_length_exceeded",
            )
