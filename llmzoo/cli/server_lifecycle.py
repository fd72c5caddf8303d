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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from llmzoo.cli.options import CommandOptions
from llmzoo.cli.output import print_json
from llmzoo.endpoints import token_file
from llmzoo.errors import ConfigError

if TYPE_CHECKING:
    from llmzoo.envs.programs.http_server import HttpServer

# seconds from the first and from the second signal until the process must have ended
SHUTDOWN_S, HURRIED_SHUTDOWN_S = 20.0, 2.0


@dataclass(frozen=True, kw_only=True)
class ListenOptions(CommandOptions):
    """Where a command listens, and who may call.

    Args:
        host: address to listen on. 0.0.0.0 is reachable from other machines and needs a token.
        port: port to listen on; 0 picks a free one.
        token_env: environment variable with the token that calls must carry, over HTTP as the API key. If
            it is not set, a server on the loopback interface creates a token in a file of this user.
        no_token: accept calls from everyone on this machine.
        json: print one JSON object instead of text.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token_env: str = "LLMZOO_TOKEN"
    no_token: bool = False
    json: bool = False


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


@contextmanager
def listen_with_token(options: ListenOptions) -> Iterator[tuple[socket.socket, int, str | None]]:
    """A socket that listens for HTTP, its port, and the token of :func:`port_and_token`."""
    from llmzoo.envs.programs.http_server import listen
    from llmzoo.serve import tokens

    with listen(options.host, options.port) as listening:
        bound = replace(options, port=listening.getsockname()[1])
        with port_and_token(bound) as (port, token):
            tokens.check_access(options.host, token)
            yield listening, port, token


def run_until_shutdown(
    server: HttpServer,
    options: ListenOptions,
    what: str,
    fields: Mapping[str, Any],
    port: int,
    token: str | None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print what an HTTP endpoint serves and where its token is, and wait until it must stop.

    ``what``: the text to print. ``fields`` and ``more``: the entries that --json prints before and after
    those of the token.
    """
    from llmzoo.serve import tokens

    shutdown_requested = install_shutdown_handler(server.hurry)
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
    wait_for_shutdown(shutdown_requested)
    server.stop()


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
