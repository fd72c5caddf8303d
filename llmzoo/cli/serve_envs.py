"""``llmzoo serve envs``"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmzoo.cli.options import parse_names, parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.cli.server_lifecycle import (
    ListenOptions,
    install_shutdown_handler,
    port_and_token,
    wait_for_shutdown,
)
from llmzoo.errors import require_extra
from llmzoo.fields import shared_fields

if TYPE_CHECKING:
    from llmzoo.serve.environments import EnvironmentsService


@dataclass(frozen=True, kw_only=True)
class ServeEnvsOptions(ListenOptions):
    """Host environments for other processes and machines, over gRPC.

    Clients use grpc://HOST:PORT/ID in place of an environment's id, as in llmzoo eval --env
    grpc://127.0.0.1:50051/sudoku_v0. Ctrl-C or SIGTERM stops the server: pending calls have 5 seconds,
    and the process exits within 20. A second signal stops it at once.

    Args:
        envs: ids separated by commas, also given first, without --envs; all for every registered
            environment.
        env_args: environment arguments that the server sets and clients cannot change;
            --env.NAME VALUE sets one.
        allow: names of arguments, separated by commas, that clients may set to any value. Other
            arguments accept booleans, bounded numbers and listed choices only, never names of
            files, tools or addresses.
        players: let clients ask the scripted experts, which give away solutions.
        tls_cert: PEM file with the server's certificate; clients then use grpcs://.
        tls_key: PEM file with the private key of the certificate.
        tls_client_ca: PEM file with the authority that signs client certificates; clients then
            need one.
        max_sessions: maximum number of open environments.
        max_message_bytes: maximum size of a request or a reply.
        idle_s: seconds after which an unused environment is closed.
        step_s: maximum seconds of a step; an environment that takes longer is closed.
        workers: threads for the steps of one call, in environments that run programs.
    """

    POSITIONAL = ("envs",)
    EXAMPLES = ("llmzoo serve envs sudoku_v0,plan_path_v0",)

    envs: str | Sequence[str] = "all"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    allow: str | Sequence[str] | None = None
    players: bool = False
    port: int = 50051
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    max_sessions: int = 16_384
    max_message_bytes: int = 64 * 2**20
    idle_s: float = 3600.0
    step_s: float = 60.0
    workers: int = 8


def run(argv: Sequence[str]) -> None:
    options = ServeEnvsOptions(**parse_options("serve envs", argv, ServeEnvsOptions))
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the error for a taken port is our own
    with require_extra("llmzoo serve envs", "serve"):
        from llmzoo.serve.hosting import ServeConfig, start_server
        from llmzoo.serve.tokens import is_loopback
    with redirect_stdout_to_stderr():
        service = build_service(options)
    with port_and_token(options) as (port, token):
        settings = shared_fields(options, ServeConfig) | {"port": port, "token": token}
        config = ServeConfig(**settings)
        # sessions are many small objects that live long: with Python's default thresholds the garbage
        # collector scans them so often that it takes a twentieth of the time of quick steps
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        with start_server(config, [service]) as running:
            shutdown_requested = install_shutdown_handler(running.hurry)
            names = list(service.catalogue.specs)
            if options.json:
                print_json({"address": running.address, "environments": names})
            else:
                print(f"serving {len(names)} environments at {running.address}", flush=True)
            if not is_loopback(options.host) and options.tls_cert is None:
                print(
                    "llmzoo: texts and the token travel in the clear; --tls_cert and --tls_key "
                    "encrypt them",
                    file=sys.stderr,
                )
            wait_for_shutdown(shutdown_requested)
    print("llmzoo: the server has ended", file=sys.stderr)


def build_service(options: ServeEnvsOptions) -> EnvironmentsService:
    """The service of the environments."""
    from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService

    settings = shared_fields(options, EnvironmentsConfig) | {
        "envs": None if options.envs == "all" else parse_names(options.envs),
        "allow": [] if options.allow is None else parse_names(options.allow),
        "message_bytes": options.max_message_bytes,
    }
    return EnvironmentsService(EnvironmentsConfig(**settings))
