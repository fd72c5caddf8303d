"""The client's side of a connection: addresses, channels, and readable errors.

An address is ``grpc://host:port/name``, or ``grpcs://`` with TLS. It contains no secret. The token
comes from ``LLMZOO_TOKEN``, or from the file that a server of the same user on this machine wrote
(:mod:`llmzoo.serve.tokens`). With TLS, ``LLMZOO_TLS_CA`` names a file with the authority that
signed the server's certificate, if the system does not know it. ``LLMZOO_TLS_CERT`` and
``LLMZOO_TLS_KEY`` name the client's own certificate.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import Message

from llmzoo.endpoints import TOKEN_ENV, read_token
from llmzoo.errors import ConfigError, LlmzooError
from llmzoo.serve.hosting import DEFAULT_PORT, GREATEST_MESSAGE_BYTES
from llmzoo.serve.tokens import check_token, is_loopback
from llmzoo.serve.validation import RemoteError, to_single_line

__all__ = [
    "Address",
    "RemoteError",
    "call_server",
    "connect",
    "error_from_rpc",
    "parse_address",
    "translate_rpc_errors",
]

T = TypeVar("T")

TLS_CA_ENV = "LLMZOO_TLS_CA"
TLS_CERT_ENV = "LLMZOO_TLS_CERT"
TLS_KEY_ENV = "LLMZOO_TLS_KEY"
_MAX_BACKOFF_MS = 500  # between attempts to connect: a server that is back is found soon
_RECONNECT_S = 1.0  # for the next attempt, which chance may delay by a fifth of that
_SCHEMES = {"grpc": False, "grpcs": True}


@dataclass(frozen=True, slots=True)
class Address:
    """``name``: what is requested from the server, such as an environment's id; may be empty."""

    host: str
    port: int
    tls: bool
    name: str = ""

    @property
    def target(self) -> str:
        """The address in gRPC's form."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def server(self) -> str:
        """Without the name: ``grpc://host:port``."""
        return f"{'grpcs' if self.tls else 'grpc'}://{self.target}"

    def __str__(self) -> str:
        return f"{self.server}/{self.name}" if self.name else self.server


def parse_address(address: str) -> Address:
    """Parse an address. Raises :class:`ConfigError` if it is malformed or contains a secret."""
    example = f"write grpc://host:{DEFAULT_PORT}/name, or grpcs:// for TLS"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{address!r} is not an address ({error}): {example}") from None
    if "@" in parts.netloc:  # the message may be logged, so it does not repeat the secret
        raise ConfigError(
            f"an address must not contain a user or a token ({parts.hostname}): put the token into "
            f"{TOKEN_ENV}"
        )
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{address!r} is not an address: {example}")
    return Address(
        parts.hostname,
        DEFAULT_PORT if port is None else port,
        _SCHEMES[parts.scheme],
        parts.path.removeprefix("/"),
    )


def connect(address: Address) -> grpc.Channel:
    """The channel to the server of an address. The same secrets give the same channel.

    Every call through it carries the token. Nothing is sent yet, so only the first call shows
    whether a server is there. Raises :class:`ConfigError` for an unusable token or TLS file.
    """
    secrets = _Secrets.for_address(address)
    # a forked process cannot use its parent's channel
    key = (os.getpid(), replace(address, name=""), secrets)
    with _lock:
        if key not in _channels:
            _channels[key] = _open_channel(address, secrets)
        return _channels[key]


def call_server(
    channel: grpc.Channel,
    call: Callable[..., T],
    request: Message,
    address: Address,
    timeout: float,
) -> T:
    """The reply to a request that changes nothing on the server.

    After a refused connection a channel fails all calls at once until its next attempt to connect,
    even if a server listens by then. So a call that reached no server is repeated after that
    attempt. Raises what :func:`translate_rpc_errors` does.
    """
    with translate_rpc_errors(address):
        try:
            return call(request, timeout=timeout)
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE or not _can_connect(channel):
                raise
        return call(request, timeout=timeout)


def _can_connect(channel: grpc.Channel) -> bool:
    """Whether the channel's next attempt to connect succeeds."""
    ready = grpc.channel_ready_future(channel)
    try:
        ready.result(timeout=_RECONNECT_S)
    except grpc.FutureTimeoutError:
        return False
    finally:
        ready.cancel()
    return True


@contextmanager
def translate_rpc_errors(address: Address) -> Iterator[None]:
    """Raise gRPC's errors as :class:`RemoteError` or :class:`ConfigError`."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_from_rpc(error, address) from error


def error_from_rpc(error: grpc.RpcError, address: Address) -> LlmzooError:
    """The error of a call, in words that say what to do.

    :class:`ConfigError` if the request itself is at fault (``INVALID_ARGUMENT``), otherwise
    :class:`RemoteError`.
    """
    code, details = error.code(), to_single_line(" ".join((error.details() or "").split()))
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return ConfigError(f"{address}: {details}")
    where = address.server
    message = {
        grpc.StatusCode.UNAVAILABLE: f"no server can be reached at {where} ({details})",
        grpc.StatusCode.UNAUTHENTICATED: (
            f"the server at {where} refused the token: set {TOKEN_ENV} to the one that it was "
            "started with"
        ),
        grpc.StatusCode.RESOURCE_EXHAUSTED: f"the server at {where} has no room for this: {details}",
        grpc.StatusCode.DEADLINE_EXCEEDED: f"the server at {where} did not answer in time: {details}",
        grpc.StatusCode.UNIMPLEMENTED: f"the server at {where} does not host this ({details})",
        grpc.StatusCode.CANCELLED: f"a call of {where} was cut off: {details}",
    }.get(code, f"the server at {where}: {details} ({code.name.lower()})")
    return RemoteError(message, code)


@dataclass(frozen=True, slots=True, repr=False)
class _Secrets:
    """What a client shows, and whom it trusts. Files are given by name."""

    token: str | None
    ca: str | None
    certificate: str | None
    key: str | None

    @classmethod
    def for_address(cls, address: Address) -> _Secrets:
        token = os.environ.get(TOKEN_ENV)
        if token is not None:
            check_token(token)
        elif is_loopback(address.host):
            token = read_token(address.host, address.port)
        if not address.tls:
            return cls(token, None, None, None)
        ca, certificate, key = map(os.environ.get, (TLS_CA_ENV, TLS_CERT_ENV, TLS_KEY_ENV))
        if (certificate is None) != (key is None):
            raise ConfigError(f"{TLS_CERT_ENV} and {TLS_KEY_ENV} go together")
        return cls(token, ca, certificate, key)


_lock = threading.Lock()
_channels: dict[tuple[int, Address, _Secrets], grpc.Channel] = {}


def _open_channel(address: Address, secrets: _Secrets) -> grpc.Channel:
    options = [
        ("grpc.max_send_message_length", -1),  # the server says how much it takes
        ("grpc.max_receive_message_length", GREATEST_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", 20_000),  # a vanished machine is noticed during a call
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),  # a server may restart at any time
        ("grpc.max_reconnect_backoff_ms", _MAX_BACKOFF_MS),
        ("grpc.enable_http_proxy", 0 if is_loopback(address.host) else 1),
    ]
    if address.tls:
        credentials = grpc.ssl_channel_credentials(
            root_certificates=_read_credential(secrets.ca, TLS_CA_ENV),
            private_key=_read_credential(secrets.key, TLS_KEY_ENV),
            certificate_chain=_read_credential(secrets.certificate, TLS_CERT_ENV),
        )
        channel = grpc.secure_channel(address.target, credentials, options)
    else:
        channel = grpc.insecure_channel(address.target, options)
    if secrets.token is None:
        return channel
    if not address.tls and not is_loopback(address.host):
        warnings.warn(
            f"the token and all texts travel in the clear to {address.host}, and whoever reads them "
            f"may call the server too: start it with --tls_cert and --tls_key, and write grpcs://",
            UserWarning,
            stacklevel=2,
        )
    return grpc.intercept_channel(channel, _WithToken(secrets.token))


class _WithToken(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Adds the token to every call."""

    def __init__(self, token: str):
        self._header = ("authorization", f"Bearer {token}")

    def intercept_unary_unary(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return self._call(continuation, client_call_details, request)

    def intercept_unary_stream(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return self._call(continuation, client_call_details, request)

    def _call(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        metadata = (*(details.metadata or ()), self._header)
        return continuation(details._replace(metadata=metadata), request)


def _read_credential(name: str | None, variable: str) -> bytes | None:
    if name is None:
        return None
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise ConfigError(f"{variable}={name}: {error.strerror}") from error
