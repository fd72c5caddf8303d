"""Servers of environments in this process, reached over the loopback as any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import llmzoo
from llmzoo import registry
from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import connect, parse_address, translate_rpc_errors
from llmzoo.serve.connection import Connection, connection_to
from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import RunningServer, ServeConfig, start_server

TOKEN = "a token of these tests"


@dataclass(frozen=True)
class Hosted:
    """A server that runs, its service, and ways to it."""

    running: RunningServer
    service: EnvironmentsService

    def at(self, id: str) -> str:
        return f"{self.running.address}/{id}"

    def make(self, id: str, **kwargs):
        return llmzoo.make(self.at(id), **kwargs)

    @property
    def connection(self) -> Connection:
        return connection_to(parse_address(self.running.address))

    @property
    def stub(self) -> EnvironmentsStub:
        """For what our own client would never send."""
        return EnvironmentsStub(connect(parse_address(self.running.address)))

    @contextmanager
    def calls(self) -> Iterator[list[int]]:
        """Afterwards the list holds how many items each call of StepBatch had."""
        made: list[int] = []
        run = self.service._run
        self.service._run = lambda items, context: made.append(len(items)) or run(items, context)
        try:
            yield made
        finally:
            self.service._run = run


@contextmanager
def hosted(*, port: int = 0, message_bytes: int = 64 * 2**20, **config) -> Iterator[Hosted]:
    """A server on the loopback whose token this process has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLMZOO_TOKEN", TOKEN)
        service = EnvironmentsService(EnvironmentsConfig(message_bytes=message_bytes, **config))
        where = ServeConfig(port=port, token=TOKEN, max_message_bytes=message_bytes)
        with start_server(where, [service]) as running:
            yield Hosted(running, service)


@contextmanager
def registered(**makers) -> Iterator[None]:
    """Environments that are known by these names (``toy_v0=Toy``) meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_specs", dict(registry._specs))
        for id, maker in makers.items():
            registry._specs[id] = registry.EnvSpec(id=id, entry_point=maker)
        yield


def listed(address: str) -> list[str]:
    """The environments that a server lists, for the secrets that this process has."""
    where = parse_address(address)
    with translate_rpc_errors(where):
        reply = EnvironmentsStub(connect(where)).ListEnvironments(pb.ListRequest(), timeout=30)
    return [environment.id for environment in reply.environments]
