"""Sessions: the environments that clients have open on a server, named by 16 bytes each."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Mapping

import grpc
from pettingzoo import AECEnv

from llmzoo.envs.base import FastOrderEnforcingWrapper, TextEnv

ID_BYTES = 16


class RequestRefusedError(Exception):
    """A request that the server refuses.

    ``lost``: the session no longer exists. ``error``: the class of the Python exception, if any.
    """

    def __init__(self, code: grpc.StatusCode, message: str, *, lost: bool = False, error: str = ""):
        super().__init__(message)
        self.code = code
        self.message = message
        self.lost = lost
        self.error = error


class EnvSession:
    """An open environment.

    ``begun``: it has been reset. ``numbers``: the index of each possible agent.
    """

    __slots__ = ("begun", "busy", "env", "names", "numbers", "slow", "used")

    def __init__(self, env: AECEnv):
        # the server keeps calls in order, so the wrapper that checks this is not needed
        self.env = env.unwrapped if type(env) is FastOrderEnforcingWrapper else env
        self.names = list(self.env.possible_agents)
        self.numbers: Mapping[str, int] = {name: at for at, name in enumerate(self.names)}
        self.slow = bool(self.env.metadata.get("slow_step", False))
        self.begun = False
        self.busy = False
        self.used = 0.0

    def copy_for_fork(self, env: AECEnv) -> EnvSession:
        """The session of a fork."""
        copied = copy.copy(self)
        copied.env = env
        copied.busy = False
        return copied


class EnvSessions:
    """All open sessions. A thread closes those that are unused for ``idle_s`` seconds."""

    def __init__(self, *, max_sessions: int, idle_s: float):
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self._open: dict[bytes, EnvSession] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._sweeper = threading.Thread(target=self._sweep, name="llmzoo-sweep", daemon=True)
        self._sweeper.start()

    def __len__(self) -> int:
        return len(self._open)

    def is_slow(self, id: bytes) -> bool:
        session = self._open.get(id)
        return session is not None and session.slow

    def __contains__(self, id: bytes) -> bool:
        return id in self._open

    def take(self, id: bytes) -> EnvSession:
        """Lock a session for one user, who must reset ``busy``. Raises :class:`RequestRefusedError`."""
        with self._lock:
            session = self._open.get(id)
            if session is None:
                raise RequestRefusedError(
                    grpc.StatusCode.NOT_FOUND,
                    "there is no such session: it was closed, it was idle for "
                    f"{self._idle_s:g} s, or the server has restarted",
                    lost=True,
                )
            if session.busy:
                raise RequestRefusedError(
                    grpc.StatusCode.ABORTED, "another call is using this session"
                )
            session.busy = True
            session.used = time.monotonic()
            return session

    def add(self, id: bytes, session: EnvSession) -> None:
        """Open a session under a name that its client chose. Raises :class:`RequestRefusedError`."""
        self.check_can_open(id)
        session.used = time.monotonic()
        with self._lock:
            self._open[id] = session

    def check_can_open(self, id: bytes) -> None:
        """Raise :class:`RequestRefusedError` if a session of this name cannot be opened."""
        if len(id) != ID_BYTES:
            raise RequestRefusedError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"a session is named by {ID_BYTES} random bytes, got {len(id)}",
            )
        if id in self._open:
            raise RequestRefusedError(
                grpc.StatusCode.ALREADY_EXISTS, "there is a session of this name"
            )
        if len(self._open) >= self._max_sessions:
            raise RequestRefusedError(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._max_sessions} sessions are open: close some, or start the server with a higher "
                "--max_sessions",
                lost=True,
            )

    def drop(self, id: bytes) -> None:
        """Close a session if it exists."""
        with self._lock:
            session = self._open.pop(id, None)
        if session is not None:
            _close(session)

    def forget(self, id: bytes) -> None:
        """Drop a session whose environment still runs and so cannot be closed."""
        with self._lock:
            self._open.pop(id, None)

    def close(self) -> None:
        """Close all sessions."""
        self._ended.set()
        self._sweeper.join()
        for id in list(self._open):
            self.drop(id)

    def _sweep(self) -> None:
        while not self._ended.wait(min(max(self._idle_s / 8, 0.02), 30.0)):
            before = time.monotonic() - self._idle_s
            with self._lock:
                old = [id for id, s in self._open.items() if s.used < before and not s.busy]
                expired = [self._open.pop(id) for id in old]
            for session in expired:
                _close(session)


def _close(session: EnvSession) -> None:
    if type(session.env).close is not TextEnv.close:  # which does nothing
        # it may hang
        threading.Thread(target=_close_env, args=(session.env,), daemon=True).start()


def _close_env(env: AECEnv) -> None:
    with contextlib.suppress(Exception):  # the session is gone either way
        env.close()
