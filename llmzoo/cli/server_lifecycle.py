"""What the serving commands share: their token, their announcement and their shutdown."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from llmzoo.cli.output import print_json
from llmzoo.endpoints import token_file
from llmzoo.errors import ConfigError

# seconds from the first and from the second signal until the process must have ended
SHUTDOWN_S, HURRIED_SHUTDOWN_S = 20.0, 2.0


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


class EndpointOptions(ListenOptions, Protocol):
    """The same, and how the command prints."""

    @property
    def json(self) -> bool: ...


def install_shutdown_handler(hurry: Callable[[], object]) -> threading.Event:
    """An event that Ctrl-C and SIGTERM set. Wait for it with :func:`wait_for_shutdown`.

    ``hurry``: called at the second signal, stops pending calls.

    A watchdog thread outside Python's control ends the process even if an environment or a model
    blocks it.
    """
    shutdown_requested = threading.Event()
    devnull = open(os.devnull, "w")  # noqa: SIM115, it is written to when the process ends

    def on_signal(*_: object) -> None:
        last_s = HURRIED_SHUTDOWN_S if shutdown_requested.is_set() else SHUTDOWN_S
        faulthandler.dump_traceback_later(last_s, exit=True, file=devnull)
        if shutdown_requested.is_set():
            hurry()
        shutdown_requested.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return shutdown_requested


def wait_for_shutdown(shutdown_requested: threading.Event) -> None:
    """Wait in the main thread until the event is set.

    Python handles signals in the main thread, between two of its instructions. A signal that the
    system gives to another thread does not wake the main thread from a wait without an end.
    """
    while not shutdown_requested.wait(0.2):
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
        token = tokens.write_token(options.host, port)
        try:
            yield port, token
        finally:
            tokens.remove_token(options.host, port, token)


def announce_endpoint(
    options: EndpointOptions,
    what: str,
    fields: Mapping[str, Any],
    port: int,
    token: str | None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print what an HTTP endpoint serves, and where its token is.

    ``what``: the text to print. ``fields`` and ``more``: the entries that --json prints before and after
    those of the token.
    """
    from llmzoo.serve import tokens

    variable = options.token_env if options.token_env in os.environ else None
    file = None if token is None or variable else str(token_file(options.host, port))
    if options.json:
        print_json({**fields, "token_file": file, "token_env": variable, **(more or {})})
    else:
        where = "none is needed" if token is None else f"in {file or variable}"
        print(f"serving {what}")
        print(f"token: {where}", flush=True)
    if not tokens.is_loopback(options.host):
        print(
            "llmzoo: texts and the token travel in the clear; put a server with TLS in front",
            file=sys.stderr,
        )


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
