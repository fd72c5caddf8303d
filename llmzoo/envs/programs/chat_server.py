"""The routes at which programs call the agents of their episodes, in the form of OpenAI's API.

What answers are the clients of :class:`Episodes`.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from llmzoo.envs.programs.client import Client
from llmzoo.envs.programs.errors import ProgramClosed
from llmzoo.envs.programs.http_server import (
    EventStream,
    Handler,
    HttpServer,
    JSONResponse,
    Request,
    RequestError,
    Response,
    Route,
    handle_errors,
    read_object,
    read_value,
    while_connected,
)
from llmzoo.envs.programs.messages import ChatCompletion


class Episodes(Protocol):
    """The episodes behind an endpoint, by id; "" stands for a request that names none.

    All of these may raise :class:`RequestError`. :class:`ProgramClosed` says that the episode has ended.
    """

    @property
    def token(self) -> str | None:
        """What callers send as the API key; None: everyone may call."""
        ...

    def client(self, id: str) -> Client:
        """What answers the calls of an episode."""
        ...

    def agents_of(self, id: str) -> Sequence[str]:
        """The names that may be called in an episode."""
        ...

    async def record_reward(self, id: str, result: Any) -> None:
        """Record the reward that a program posted for its episode: any JSON value."""
        ...


class ChatServer(HttpServer):
    """Serves episodes at a socket. ``grace_s``: seconds that running calls have when it stops."""

    def __init__(self, episodes: Episodes, listening: socket.socket, *, grace_s: int = 1):
        super().__init__(_routes(episodes), listening, token=episodes.token, grace_s=grace_s)


def _routes(episodes: Episodes) -> list[Route]:
    """The routes. An episode is named in the path, or by the header X-Episode."""

    def id_of(request: Request) -> str:
        """The id that a request names; "" for none."""
        return str(request.path_params.get("id", request.headers.get("x-episode", "")))

    async def complete(request: Request) -> Response:
        client = episodes.client(id_of(request))
        arguments = await read_object(request)
        stream = arguments.pop("stream", False)
        reply = await while_connected(request, client.aio.chat.completions.create(**arguments))
        assert isinstance(reply, ChatCompletion)
        if stream:
            return EventStream(_chunks(reply))
        body = json.dumps({**asdict(reply), "created": int(time.time())})  # lone surrogates too
        return Response(body, media_type="application/json")

    async def models(request: Request) -> Response:
        return list_models(episodes.agents_of(id_of(request)))

    async def reward(request: Request) -> Response:
        await episodes.record_reward(id_of(request), await read_value(request))
        return JSONResponse({"ok": True})

    return [
        Route("/episodes/{id}/v1/chat/completions", _answer(complete), methods=["POST"]),
        Route("/episodes/{id}/v1/models", _answer(models)),
        Route("/episodes/{id}/reward", _answer(reward), methods=["POST"]),
        Route("/v1/chat/completions", _answer(complete), methods=["POST"]),
        Route("/v1/models", _answer(models)),
    ]


def list_models(names: Sequence[str]) -> Response:
    """The reply that lists models."""
    return JSONResponse({"object": "list", "data": [describe_model(name) for name in names]})


def describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "llmzoo"}


def _answer(route: Handler) -> Handler:
    """A route whose errors are responses, also that of an episode that has ended."""

    async def answer(request: Request) -> Response:
        try:
            return await route(request)
        except ProgramClosed as error:
            raise RequestError(410, str(error)) from error

    return handle_errors(answer)


async def _chunks(reply: ChatCompletion) -> AsyncIterator[dict[str, Any]]:
    for chunk in reply.chunks():
        yield {**asdict(chunk), "created": int(time.time())}
