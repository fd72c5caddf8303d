"""``llmzoo serve``"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from llmzoo.cli.arguments import PromptOptions
from llmzoo.cli.options import check_types, parse_names, parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.cli.server_lifecycle import install_shutdown_handler, port_and_token, wait_for_shutdown
from llmzoo.errors import ConfigError, MissingExtraError


@dataclass(frozen=True, kw_only=True)
class ServeOptions(PromptOptions):
    """Host environments, a policy or both for other processes and machines, over gRPC.

    Clients use grpc://HOST:PORT/ID in place of an environment's id, as in llmzoo eval --env
    grpc://127.0.0.1:50051/sudoku_v0, and grpc://HOST:PORT in place of a policy that does not learn,
    as in llmzoo eval --policy grpc://127.0.0.1:50051. Ctrl-C or SIGTERM stops the server: pending
    calls have 5 seconds, and the process exits within 20. A second signal stops it at once.

    Args:
        envs: ids separated by commas, all for every registered environment, or none. The default
            is all, or none if a policy is hosted.
        env_args: environment arguments that the server sets and clients cannot change;
            --env.NAME VALUE sets one.
        allow: names of arguments, separated by commas, that clients may set to any value. Other
            arguments accept booleans, bounded numbers and listed choices only, never names of
            files, tools or addresses.
        players: let clients ask the scripted experts, which give away solutions.
        policy: the policy to host: tiny, smollm2, a model folder, a hub id, a run folder of llmzoo
            train with one trained policy, or openai:MODEL@URL.
        policy_args: limits on policy calls: requests, rows, new_tokens, prompt_characters,
            call_characters, microbatch_rows, calls; --policy.NAME VALUE sets one.
        host: address to listen on. 0.0.0.0 is reachable from other machines and needs a token.
        port: port to listen on; 0 picks a free one.
        token_env: environment variable with the token that calls must carry. If it is not set, a
            server on the loopback interface creates a token that clients of the same user find.
        no_token: accept calls from everyone on this machine.
        tls_cert: PEM file with the server's certificate; clients then use grpcs://.
        tls_key: PEM file with the private key of the certificate.
        tls_client_ca: PEM file with the authority that signs client certificates; clients then
            need one.
        max_sessions: maximum number of open environments.
        max_message_bytes: maximum size of a request or a reply.
        idle_s: seconds after which an unused environment is closed.
        step_s: maximum seconds of a step; an environment that takes longer is closed.
        workers: threads for the steps of one call, in environments that run programs.
        json: print one JSON object instead of text.
    """

    EXAMPLES = (
        "llmzoo serve --envs sudoku_v0,plan_path_v0",
        "llmzoo serve --policy tiny --port 50052",
    )

    envs: str | Sequence[str] | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    allow: str | Sequence[str] | None = None
    players: bool = False
    policy: str | None = None
    policy_args: Mapping[str, Any] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 50051
    token_env: str = "LLMZOO_TOKEN"
    no_token: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    max_sessions: int = 16_384
    max_message_bytes: int = 64 * 2**20
    idle_s: float = 3600.0
    step_s: float = 60.0
    workers: int = 8
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ServeOptions(**parse_options("serve", argv, ServeOptions))
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the error for a taken port is our own
    try:
        from llmzoo.serve.hosting import THREADS, ServeConfig, start_server
        from llmzoo.serve.tokens import is_loopback
    except ModuleNotFoundError as error:
        raise MissingExtraError("llmzoo serve", "serve", error.name) from error
    with redirect_stdout_to_stderr():
        offers = build_services(options)
    with port_and_token(options) as (port, token):
        config = ServeConfig(
            host=options.host,
            port=port,
            token=token,
            tls_cert=options.tls_cert,
            tls_key=options.tls_key,
            tls_client_ca=options.tls_client_ca,
            max_message_bytes=options.max_message_bytes,
            threads=THREADS + sum(offer.waiting for offer in offers),
        )
        # sessions are many small objects that stay: looking through them for what nobody needs, as
        # often as Python does, takes a twentieth of the time of quick steps
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        with start_server(config, [offer.service for offer in offers]) as running:
            ended = install_shutdown_handler(running.hurry)
            if options.json:
                hosted = {offer.kind: offer.names for offer in offers}
                print_json({"address": running.address, **hosted})
            else:
                what = ", ".join(f"{len(offer.names)} {offer.kind}" for offer in offers)
                print(f"serving {what} at {running.address}", flush=True)
            if not is_loopback(options.host) and options.tls_cert is None:
                print(
                    "llmzoo: texts and the token travel in the clear; --tls_cert and --tls_key "
                    "encrypt them",
                    file=sys.stderr,
                )
            wait_for_shutdown(ended)
    print("llmzoo: the server has ended", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class HostedService:
    """A service, and the names that it offers, of a ``kind`` such as "environments"."""

    kind: str
    names: list[str]
    service: Any  # of llmzoo.serve, which needs the extra
    waiting: int = 0  # calls that may wait for other calls, each holding a thread


def build_services(options: ServeOptions) -> list[HostedService]:
    """The services to host."""
    from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService

    offers: list[HostedService] = []
    envs = options.envs or ("all" if options.policy is None else "none")
    if envs != "none":
        config = EnvironmentsConfig(
            envs=None if envs == "all" else parse_names(envs),
            env_args=options.env_args,
            allow=[] if options.allow is None else parse_names(options.allow),
            players=options.players,
            max_sessions=options.max_sessions,
            idle_s=options.idle_s,
            step_s=options.step_s,
            workers=options.workers,
            message_bytes=options.max_message_bytes,
        )
        environments = EnvironmentsService(config)
        offers.append(
            HostedService("environments", list(environments.catalogue.specs), environments)
        )
    if options.policy is not None:
        offers.append(_build_policy_service(options.policy, options))
    elif options.policy_args or options.chat() or options.device is not None:
        given = {**options.chat(), "device": options.device}
        named = ["policy_args"] if options.policy_args else [n for n, v in given.items() if v]
        raise ConfigError(f"{', '.join(named)} need --policy")
    if not offers:
        raise ConfigError("nothing to host: give --envs or --policy")
    return offers


def _build_policy_service(name: str, options: ServeOptions) -> HostedService:
    from llmzoo.serve.policies import PolicyLimits, PolicyService
    from llmzoo.serve.policies_hosted import load_hosted

    hints = {limit.name: int for limit in fields(PolicyLimits) if limit.name != "message_bytes"}
    given = check_types(hints, options.policy_args, "limit of a policy")
    limits = PolicyLimits(**given, message_bytes=options.max_message_bytes)
    policy = load_hosted(
        name, options.chat(), device=options.device, trust_remote_code=options.trust_remote_code
    )
    service = PolicyService(policy, limits=limits)
    return HostedService("policy", [name], service, waiting=limits.calls)
