"""The gRPC server that hosts environments and policies: who may call it, and how it ends."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from llmzoo.errors import ConfigError
from llmzoo.serve.admission import AdmissionInterceptor
from llmzoo.serve.tokens import check_access

DEFAULT_PORT = 50051
MAX_MESSAGE_BYTES = 64 * 2**20
GREATEST_MESSAGE_BYTES = 512 * 2**20  # clients refuse larger messages
TIME_LIMIT_BOUNDS_S = (0.001, 86_400.0)  # bounds of every time limit, in seconds
THREADS = 16

GRACE_S = 5.0  # seconds that running calls have to end
HANDSHAKE_S = 10.0  # seconds to open a connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """Where a server listens and who may call it.

    ``port``: 0 picks a free port. ``token``: the secret that every call must carry. Without one,
    anybody on this machine may call, and the server listens on the loopback interface only.
    ``tls_cert`` and ``tls_key``: PEM files of the server's certificate, for encrypted calls.
    ``tls_client_ca``: clients need a certificate signed by this authority too.
    ``max_message_bytes``: the largest request or reply. ``threads``: calls that run at the same
    time. ``max_calls``: calls that run or wait for a thread; further calls are refused.

    Raises :class:`ConfigError` for settings that contradict each other or would leave the server
    open to others.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str | None = field(default=None, repr=False)
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    max_message_bytes: int = MAX_MESSAGE_BYTES
    threads: int = THREADS
    max_calls: int = 256

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ConfigError(f"port must be 0 to 65535, got {self.port}")
        if not 2**16 <= self.max_message_bytes <= GREATEST_MESSAGE_BYTES:
            raise ConfigError(
                f"max_message_bytes is 65536 to {GREATEST_MESSAGE_BYTES}, got {self.max_message_bytes}"
            )
        if self.threads < 1 or self.max_calls < 1:
            raise ConfigError("threads and max_calls are at least 1")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("tls_cert and tls_key go together: a certificate and its key")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ConfigError("tls_client_ca asks clients for certificates, which needs tls_cert")
        check_access(self.host, self.token)

    @property
    def scheme(self) -> str:
        return "grpc" if self.tls_cert is None else "grpcs"


class Service(Protocol):
    """A service that a server hosts; it implements one generated servicer."""

    name: str  # in full, such as "llmzoo.v1.Environments"; health checks ask by it

    def register(self, server: grpc.aio.Server) -> None:
        """Add the servicer to a server that has not started."""
        ...

    def close(self) -> None:
        """Free the service's resources. No call follows."""
        ...


class RunningServer:
    """A running server. Leaving the ``with`` block stops it. ``address``: ``grpc://host:port``."""

    def __init__(
        self,
        loop: LoopThread,
        server: grpc.aio.Server,
        checks: health.aio.HealthServicer,
        services: Sequence[Service],
        address: str,
        port: int,
    ):
        self.address = address
        self.port = port
        self._loop = loop
        self._server = server
        self._health = checks
        self._services = list(services)
        self._stopping = threading.Lock()
        self._stopped = threading.Event()

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self, grace_s: float = GRACE_S) -> None:
        """Refuse new calls, give running ones ``grace_s`` seconds to end, and close the services.

        A call that runs longer is cancelled, and its thread is abandoned.
        """
        with self._stopping:
            if self._stopped.is_set():
                return
            self._loop.run(self._health.enter_graceful_shutdown())
            self._loop.run(self._server.stop(grace_s))
            for service in reversed(self._services):
                service.close()
            self._loop.close()
            self._stopped.set()

    def hurry(self) -> None:
        """Cancel the calls that a running :meth:`stop` waits for. Safe in a signal handler."""
        self._loop.begin(self._server.stop(None))

    def wait(self) -> None:
        """Block until the server has stopped."""
        self._stopped.wait()


def start_server(config: ServeConfig, services: Sequence[Service]) -> RunningServer:
    """Start a server with these services and health checks (``grpc.health.v1``).

    Raises :class:`ConfigError` if it cannot listen or cannot use a TLS file.
    """
    loop = LoopThread()
    try:
        return loop.run(_start_server(config, services, loop))
    except BaseException:
        loop.close()
        raise


async def _start_server(
    config: ServeConfig, services: Sequence[Service], loop: LoopThread
) -> RunningServer:
    most = config.max_message_bytes
    server = grpc.aio.server(
        interceptors=[
            AdmissionInterceptor(
                config.token, threads=config.threads, max_calls=config.max_calls, max_bytes=most
            )
        ],
        options=[
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            ("grpc.so_reuseport", 0),  # otherwise a second server at the port would share its calls
            ("grpc.server_handshake_timeout_ms", int(1000 * HANDSHAKE_S)),
            ("grpc.keepalive_time_ms", 60_000),  # ends the calls of vanished clients
            ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
            ("grpc.http2.max_ping_strikes", 0),  # clients send keepalive pings too
        ],
    )
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    for service in services:
        service.register(server)
        await checks.set(service.name, health_pb2.HealthCheckResponse.SERVING)
    port = _listen(server, config)
    await server.start()
    address = f"{config.scheme}://{_authority(config.host, port)}"
    return RunningServer(loop, server, checks, services, address, port)


def _listen(server: grpc.aio.Server, config: ServeConfig) -> int:
    address = _authority(config.host, config.port)
    try:
        if config.tls_cert is None or config.tls_key is None:
            return server.add_insecure_port(address)
        client_ca = None if config.tls_client_ca is None else _read_file(config.tls_client_ca)
        credentials = grpc.ssl_server_credentials(
            [(_read_file(config.tls_key), _read_file(config.tls_cert))],
            root_certificates=client_ca,
            require_client_auth=client_ca is not None,
        )
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        what = "the port is taken, the host is not of this machine"
        if config.tls_cert is not None:
            what += ", or the certificate and its key do not fit"
        raise ConfigError(f"cannot listen at {address}: {what}") from error


def _read_file(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"{os.fspath(file)}: {error.strerror}") from error


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own. It runs until :meth:`close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="llmzoo-server", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Start a coroutine without waiting for it. A closed loop drops it."""
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()

    def close(self) -> None:
        """Cancel the remaining tasks and stop the loop."""
        self.run(_cancel_other_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_other_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=1.0) if tasks else None
