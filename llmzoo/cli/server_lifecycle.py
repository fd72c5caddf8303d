"""What commands that serve have in common: their token, and how they end."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from llmzoo.errors import ConfigError

SHUTDOWN_S = (
    20.0  # seconds in which the process has ended, after the first signal and after the second
)
HURRIED_SHUTDOWN_S = 2.0


class ListenOptions(Protocol):
    """The options that say where a command listens and who may call."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def token_env(self) -> str: ...
    @property
    def no_token(self) -> bool: ...


def install_shutdown_handler(hurry: Callable[[], object]) -> threading.Event:
    """An event that Ctrl-C and SIGTERM set; ``hurry``, called at the second, stops pending calls. Wait
    for it with :func:`wait_for_shutdown`.

    A watchdog thread outside Python's control ends the process even if an environment or a model
    blocks it.
    """
    ended = threading.Event()
    devnull = open(os.devnull, "w")  # noqa: SIM115, it is written to when the process ends

    def on_signal(*_: object) -> None:
        last_s = HURRIED_SHUTDOWN_S if ended.is_set() else SHUTDOWN_S
        faulthandler.dump_traceback_later(last_s, exit=True, file=devnull)
        if ended.is_set():
            hurry()
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return ended


def wait_for_shutdown(ended: threading.Event) -> None:
    """Wait in the main thread until the event is set.

    Python handles signals in the main thread, between two of its instructions. A signal that the
    system gives to another thread does not wake the main thread from a wait without an end.
    """
    while not ended.wait(0.2):
        pass


@contextmanager
def port_and_token(options: ListenOptions) -> Iterator[tuple[int, str | None]]:
    """The port and its token: the given token, or a new one that this user's clients find."""
    from llmzoo.serve import tokens

    given = os.environ.get(options.token_env)
    if options.no_token:
        if given is not None:
            raise ConfigError(
                f"{options.token_env} holds a token: unset it, or leave out --no_token"
            )
        yield options.port, None
    elif given is not None or not tokens.is_loopback(options.host):
        yield options.port, given
    else:
        port = options.port or _free_port(options.host)
        try:
            yield port, tokens.write_token(port)
        finally:
            tokens.remove_token(port)


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
