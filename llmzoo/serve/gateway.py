"""The episodes of programs that run elsewhere, behind an endpoint with OpenAI's API.

Any id opens an episode with its first call. It ends with its reward, or when no call has come for a
while, and is then a line of ``episodes.jsonl`` (:mod:`llmzoo.records.episode_rows`).
"""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.envs.programs.client import Client
from llmzoo.envs.programs.errors import ProgramClosed
from llmzoo.envs.programs.http_server import RequestError
from llmzoo.envs.programs.local_gateway import parse_reward
from llmzoo.evaluation.episode_folder import EpisodeFolder
from llmzoo.policies.base import Policy
from llmzoo.records import Episode
from llmzoo.serve.agent_router import AgentRouter
from llmzoo.serve.batching import Batcher
from llmzoo.serve.recorded_episode import GatewaySettings, RecordedEpisode

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_IDLE_CHECK_S = 1.0  # longest time between two checks for idle episodes


class PolicyGateway:
    """Answers episodes with the policies of ``agent_policies``, and keeps those that have ended in ``folder``.

    One thread asks the policies. Calls that come while it computes are answered together.

    ``token``: None for none. ``greedy``: take the most likely answers. ``success``: the team
    reward from which an episode is a success, if its program does not say whether it is. ``idle_s``: seconds
    without a call after which an episode is closed without a reward. ``max_episodes``: the number that
    may be open.
    """

    def __init__(
        self,
        agent_policies: Mapping[str, Policy],
        folder: EpisodeFolder,
        *,
        token: str | None,
        greedy: bool = False,
        success: float = 1.0,
        idle_s: float = 3600.0,
        max_episodes: int = 16_384,
    ):
        self.token = token
        self._batcher = Batcher(AgentRouter(agent_policies))
        self._shared = GatewaySettings(self._batcher, tuple(agent_policies), greedy, success)
        self._folder = folder
        self._idle_s, self._max_episodes = idle_s, max_episodes
        self._lock = threading.Lock()
        self._open: dict[str, tuple[RecordedEpisode, Client]] = {}
        self._ended = set(folder.ids)
        self._next = folder.next_task
        self._closing = threading.Event()
        self._idle_thread = threading.Thread(
            target=self._close_idle_episodes, name="llmzoo idle", daemon=True
        )
        self._idle_thread.start()

    def client(self, id: str) -> Client:
        """What answers the calls of an episode, which the first one opens."""
        if not _ID.fullmatch(id):
            raise RequestError(
                400,
                f"an episode is named in the path (/episodes/ID/v1) or as X-Episode, by 1 to 64 "
                f"letters, digits, - and _; got {id!r:.100}",
            )
        with self._lock:
            if id in self._ended:
                raise ProgramClosed(f"episode {id!r} has ended")
            if id not in self._open:
                if self._closing.is_set():
                    raise RequestError(503, "the server is shutting down")
                if len(self._open) >= self._max_episodes:
                    raise RequestError(
                        429,
                        f"{self._max_episodes} episodes are open, the most that this server allows",
                    )
                episode = RecordedEpisode(id, self._shared)
                self._open[id] = episode, Client(episode)
            return self._open[id][1]

    def agents_of(self, id: str) -> Sequence[str]:
        """The agents, whatever the episode."""
        return self._shared.agents

    async def record_reward(self, id: str, result: Any) -> None:
        """End an episode with the posted reward. The episode is on disk when this returns."""
        with self._lock:
            if id in self._ended:
                raise ProgramClosed(f"episode {id!r} has ended")
            if id not in self._open:
                raise RequestError(404, f"no episode {id!r} is open: its first call opens one")
            episode = self._open[id][0]
        try:
            await asyncio.to_thread(self._end, episode, parse_reward(result))
        except OSError as error:
            raise RequestError(
                500, f"episode {id!r} cannot be written: {error.strerror}"
            ) from error

    def close(self) -> None:
        """Write the open episodes without a reward, and let the policies go."""
        self._closing.set()
        self._idle_thread.join()
        for episode in self._episodes():
            self._end_without_reward(episode)
        self._batcher.close()

    def _episodes(self) -> list[RecordedEpisode]:
        with self._lock:
            return [episode for episode, _ in self._open.values()]

    def _close_idle_episodes(self) -> None:
        while not self._closing.wait(min(_IDLE_CHECK_S, self._idle_s / 4)):
            for episode in self._episodes():
                if episode.idle_s() >= self._idle_s:
                    self._end_without_reward(episode)

    def _end_without_reward(self, episode: RecordedEpisode) -> None:
        try:
            self._end(episode, None)
        except ProgramClosed:  # its reward has come meanwhile
            return
        except OSError as error:  # the next check tries again
            print(
                f"llmzoo: episode {episode.id} cannot be written: {error.strerror}",
                file=sys.stderr,
            )

    def _end(self, episode: RecordedEpisode, result: Any) -> None:
        was_stored = episode.end(result, lambda record: self._store_record(episode.id, record))
        with self._lock:
            if was_stored:  # an episode without an answer may begin again
                self._ended.add(episode.id)
            self._open.pop(episode.id, None)

    def _store_record(self, id: str, record: Episode) -> None:
        with self._lock:
            number, self._next = self._next, self._next + 1
        self._folder.add((number, 0), record, id)
