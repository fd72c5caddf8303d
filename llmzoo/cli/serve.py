"""``llmzoo serve``"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from llmzoo.cli.arguments import chat
from llmzoo.cli.options import names, read, typed
from llmzoo.cli.output import apart, as_json
from llmzoo.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from llmzoo.serve.hosting import Running, Service

END_S = 20.0  # seconds in which the process has ended, after the first signal and after the second
AT_ONCE_S = 2.0
EXAMPLES = (
    "llmzoo serve --envs sudoku_v0,plan_path_v0",
    "llmzoo serve --policy tiny --port 50052",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Host environments, a policy or both for other processes and machines, over gRPC.

    Environments are reached as grpc://HOST:PORT/ID wherever an id is taken: llmzoo eval --env
    grpc://127.0.0.1:50051/sudoku_v0; the policy as grpc://HOST:PORT wherever one is named that does
    not learn: llmzoo eval --policy grpc://127.0.0.1:50051. Ctrl-C or SIGTERM ends the server: calls under way
    have 5 seconds, and the process has ended after 20; a second signal ends it at once.

    Args:
        envs: ids with commas between; all: whatever is registered; none. All where nothing is said,
            none beside a policy.
        env_args: arguments that the server sets and no client can; --env.NAME VALUE gives one.
        allow: names of arguments, with commas between, that clients may set to any value. Without
            it they set truths, bounded numbers and listed choices, never names of files, tools or
            addresses.
        players: let the scripted experts answer clients; who asks them need not solve anything.
        policy: the policy to host: tiny, a folder or a hub id of a model, the run folder of llmzoo
            train with one trained policy, or openai:MODEL@URL.
        policy_args: limits of what clients may ask of it: requests, rows, new_tokens,
            prompt_characters, call_characters, rows_at_once, calls; --policy.NAME VALUE gives one.
        system: system prompt of the policy, for models with a chat template.
        chat_template_args: what its chat template is given, such as {enable_thinking: false};
            --chat_template_args.NAME VALUE gives one.
        thought_end: the text that ends a thought of it, before which nothing is its answer; where
            nothing is said what its tokenizer or chat template shows, none takes all that it writes.
        trust_remote_code: run Python code that comes with a model, of a model whose code you have
            read; without it such a model is refused.
        host: where to listen; other machines reach 0.0.0.0, which needs a token.
        port: 0 takes a free one.
        token_env: environment variable with the token that calls must bring. Where it is not set, a
            server on this machine's loopback makes one up, which this user's clients find.
        no_token: take calls of everybody on this machine.
        tls_cert: file (PEM) with the server's certificate; clients then write grpcs://.
        tls_key: file (PEM) with its key.
        tls_client_ca: file (PEM) with the authority that has signed clients' certificates, which
            they then need.
        max_sessions: environments that may be open at the same time.
        max_message_bytes: of a request or an answer.
        idle_s: seconds after which an environment that nobody uses is closed.
        step_s: seconds that a step may take; then its environment is closed.
        workers: steps of a call that are made at the same time, of environments that run programs.
        json: print one JSON object instead of a line for people.
    """

    envs: str | Sequence[str] | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    allow: str | Sequence[str] | None = None
    players: bool = False
    policy: str | None = None
    policy_args: Mapping[str, Any] = field(default_factory=dict)
    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None
    trust_remote_code: bool = False
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
    # a port that is taken is told in our words
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from llmzoo.serve.hosting import THREADS, ServeConfig, host, is_loopback
    except ModuleNotFoundError as error:
        raise MissingExtraError("llmzoo serve", "serve", error.name) from error

    options = Options(**read("serve", argv, Options, examples=EXAMPLES))
    with apart():
        offers = offers_of(options)
    with _token(options) as (port, token):
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
        with host(config, [offer.service for offer in offers]) as running:
            ended = _told_to_end(running)
            if options.json:
                hosted = {offer.kind: offer.names for offer in offers}
                as_json({"address": running.address, **hosted})
            else:
                what = ", ".join(f"{len(offer.names)} {offer.kind}" for offer in offers)
                print(f"serving {what} at {running.address}", flush=True)
            if not is_loopback(options.host) and options.tls_cert is None:
                print(
                    "llmzoo: texts and the token travel in the clear; --tls_cert and --tls_key "
                    "encrypt them",
                    file=sys.stderr,
                )
            ended.wait()
    print("llmzoo: the server has ended", file=sys.stderr)


def _told_to_end(running: Running) -> threading.Event:
    """What Ctrl-C and SIGTERM set. A second one leaves calls under way no time.

    The process ends even where an environment or a model does not let it: a thread that needs
    nothing of Python sees to that.
    """
    ended = threading.Event()
    nowhere = open(os.devnull, "w")  # noqa: SIM115, it is written to when the process ends

    def told(*_: object) -> None:
        last_s = AT_ONCE_S if ended.is_set() else END_S
        faulthandler.dump_traceback_later(last_s, exit=True, file=nowhere)
        if ended.is_set():
            running.hurry()
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, told)
    return ended


@dataclass(frozen=True, slots=True)
class Offer:
    """A service, and the names of what it offers, of a ``kind`` such as "environments"."""

    kind: str
    names: list[str]
    service: Service
    waiting: int = 0  # calls that may wait for others, each of which holds a thread


def offers_of(options: Options) -> list[Offer]:
    """What is asked to be hosted."""
    from llmzoo.serve.environments import Environments, EnvironmentsConfig

    offers: list[Offer] = []
    envs = options.envs or ("all" if options.policy is None else "none")
    if envs != "none":
        config = EnvironmentsConfig(
            envs=None if envs == "all" else names(envs),
            env_args=options.env_args,
            allow=[] if options.allow is None else names(options.allow),
            players=options.players,
            max_sessions=options.max_sessions,
            idle_s=options.idle_s,
            step_s=options.step_s,
            workers=options.workers,
            message_bytes=options.max_message_bytes,
        )
        environments = Environments(config)
        offers.append(Offer("environments", list(environments.catalogue.specs), environments))
    if options.policy is not None:
        offers.append(_policy(options.policy, options))
    elif options.policy_args or chat(options):
        named = ["policy_args"] if options.policy_args else list(chat(options))
        raise ConfigError(f"{', '.join(named)} mean nothing without --policy")
    if not offers:
        raise ConfigError("there is nothing to host: name --envs or --policy")
    return offers


def _policy(name: str, options: Options) -> Offer:
    from llmzoo.serve.policies import PolicyLimits, PolicyService
    from llmzoo.serve.policies_hosted import load_hosted

    hints = {limit.name: int for limit in fields(PolicyLimits) if limit.name != "message_bytes"}
    given = typed(hints, options.policy_args, "limit of a policy")
    limits = PolicyLimits(**given, message_bytes=options.max_message_bytes)
    policy = load_hosted(name, chat(options), trust_remote_code=options.trust_remote_code)
    service = PolicyService(policy, limits=limits)
    return Offer("policy", [name], service, waiting=limits.calls)


@contextmanager
def _token(options: Options) -> Iterator[tuple[int, str | None]]:
    """The port, and the token for it: the given one, or one that is left for this user's clients."""
    from llmzoo.serve import tokens
    from llmzoo.serve.hosting import is_loopback

    given = os.environ.get(options.token_env)
    if options.no_token:
        if given is not None:
            raise ConfigError(f"{options.token_env} holds a token, and --no_token wants none")
        yield options.port, None
    elif given is not None or not is_loopback(options.host):
        yield options.port, given
    else:
        port = options.port or _free_port(options.host)
        try:
            yield port, tokens.leave(port)
        finally:
            tokens.take_back(port)


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
