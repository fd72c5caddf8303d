"""The endpoint of this process, behind which the agents of running episodes answer.

Programs in other processes and languages call it as they call any other endpoint. Each episode has an
address of its own, ``http://127.0.0.1:PORT/episodes/ID/v1``, and every request needs the gateway's token.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from llmzoo.envs.programs.chat_server import ChatServer, RequestError, listen
from llmzoo.envs.programs.client import CallHandler, Client
from llmzoo.envs.programs.errors import ProgramError


@dataclass(slots=True, eq=False)
class OpenEpisode:
    """An episode at the gateway. ``posted``: what its program has posted as its result."""

    url: str
    token: str
    client: Client
    agents: tuple[str, ...]
    posted: Any = None


class Gateway:
    """Serves open episodes on the loopback address, from a thread of its own."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._episodes: dict[str, OpenEpisode] = {}
        self._server = ChatServer(self, listen())

    def open(self, asked: CallHandler) -> OpenEpisode:
        """A new address, at which the agents of an episode answer."""
        id = secrets.token_hex(8)
        url = f"{self._server.address}/episodes/{id}/v1"
        episode = OpenEpisode(url, self.token, Client(asked), tuple(asked.agents))
        self._episodes[id] = episode
        return episode

    def close(self, episode: OpenEpisode) -> None:
        """From now on the address is unknown."""
        self._episodes.pop(episode.url.split("/")[-2], None)

    def client(self, id: str) -> Client:
        return self._episode(id).client

    def agents_of(self, id: str) -> Sequence[str]:
        return self._episode(id).agents

    async def post_reward(self, id: str, posted: Any) -> None:
        episode = self._episode(id)
        parse_reward(posted)  # raises for what is none
        episode.posted = posted

    def _episode(self, id: str) -> OpenEpisode:
        if id not in self._episodes:
            raise RequestError(
                404, f"no episode {id!r} is open; name one in the path or as X-Episode"
            )
        return self._episodes[id]


@cache
def gateway() -> Gateway:
    """The gateway of this process."""
    return Gateway()


os.register_at_fork(after_in_child=gateway.cache_clear)


def parse_result(output: str, posted: Any) -> Any:
    """What a command returns: the result it posted, or the last line that it printed.

    Either is a JSON number, or an object with ``reward`` and, if it likes, ``success``. Raises
    :class:`ProgramError` for anything else.
    """
    lines = output.strip().splitlines()
    value = posted
    if value is None:
        try:
            value = json.loads(lines[-1]) if lines else None
        except (ValueError, RecursionError):
            value = None
    try:
        return parse_reward(value)
    except ProgramError:
        shown = lines[-1][:200] if lines else ""
        raise ProgramError(
            "a command posts its reward, or prints it last, as a number or as "
            f'{{"reward": ..., "success": ...}}; its last line is {shown!r}'
        ) from None


def parse_reward(value: Any) -> Any:
    """The result of a program in a JSON value: a number, or an object with ``reward`` and ``success``.

    Raises :class:`ProgramError` for anything else.
    """
    if isinstance(value, dict) and set(value) <= {"reward", "success"} and "reward" in value:
        return (value["reward"], value["success"]) if "success" in value else value["reward"]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ProgramError(
        f'a reward is a number, or {{"reward": ..., "success": ...}}; got {value!r:.200}'
    )
