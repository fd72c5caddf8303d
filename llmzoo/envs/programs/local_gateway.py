"""A chat endpoint in this process, at which programs call the agents of running episodes.

Programs in other processes and languages call it like any other endpoint. Each episode has its own
address, ``http://127.0.0.1:PORT/episodes/ID/v1``. Every request needs the gateway's token.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from llmzoo.envs.programs.chat_server import ChatServer
from llmzoo.envs.programs.client import CallHandler, Client
from llmzoo.envs.programs.errors import ProgramError
from llmzoo.envs.programs.http_server import RequestError, listen


@dataclass(slots=True, eq=False)
class OpenEpisode:
    """An episode at the gateway. ``posted_result``: the result posted by its program, or None."""

    url: str
    token: str
    client: Client
    agents: tuple[str, ...]
    posted_result: Any = None


class Gateway:
    """Serves open episodes on the loopback address, in a separate thread."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._episodes: dict[str, OpenEpisode] = {}
        self._server = ChatServer(self, listen())

    def open(self, handler: CallHandler) -> OpenEpisode:
        """Open an episode at a new address, where its agents can be called."""
        id = secrets.token_hex(8)
        url = f"{self._server.address}/episodes/{id}/v1"
        episode = OpenEpisode(url, self.token, Client(handler), tuple(handler.agents))
        self._episodes[id] = episode
        return episode

    def close(self, episode: OpenEpisode) -> None:
        """Close an episode. Later requests to its address get a 404."""
        self._episodes.pop(episode.url.split("/")[-2], None)

    def client(self, id: str) -> Client:
        return self._episode(id).client

    def agents_of(self, id: str) -> Sequence[str]:
        return self._episode(id).agents

    async def record_reward(self, id: str, result: Any) -> None:
        episode = self._episode(id)
        parse_reward(result)  # raises if it is not a valid result
        episode.posted_result = result

    def _episode(self, id: str) -> OpenEpisode:
        if id not in self._episodes:
            raise RequestError(
                404, f"no episode {id!r} is open; name one in the path or in the header X-Episode"
            )
        return self._episodes[id]


@cache
def gateway() -> Gateway:
    """The gateway of this process."""
    return Gateway()


os.register_at_fork(after_in_child=gateway.cache_clear)


def parse_result(output: str, posted_result: Any) -> Any:
    """The result of a command: the one that it posted, otherwise the last line that it printed.

    Either is a JSON number, or an object with ``reward`` and optionally ``success``. Raises
    :class:`ProgramError` for anything else.
    """
    lines = output.strip().splitlines()
    value = posted_result
    if value is None:
        try:
            value = json.loads(lines[-1]) if lines else None
        except (ValueError, RecursionError):
            value = None
    try:
        return parse_reward(value)
    except ProgramError:
        last_line = lines[-1][:200] if lines else ""
        raise ProgramError(
            "a command must post its reward or print it on its last line, as a number or as "
            f'{{"reward": ..., "success": ...}}; the last line is {last_line!r}'
        ) from None


def parse_reward(value: Any) -> Any:
    """Parse a program's result: a number, or an object with ``reward`` and optionally ``success``.

    Returns the reward, or a pair of reward and success. Raises :class:`ProgramError` for anything
    else.
    """
    if isinstance(value, dict) and set(value) <= {"reward", "success"} and "reward" in value:
        return (value["reward"], value["success"]) if "success" in value else value["reward"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ProgramError(
        f'a reward must be a number or {{"reward": ..., "success": ...}}; got {value!r:.200}'
    )
