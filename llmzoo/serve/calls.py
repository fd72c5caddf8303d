"""The calls of the gRPC service ``Environments``, made from its description in the protos.

Each call takes one message and returns one.
"""

from __future__ import annotations

from types import SimpleNamespace

import grpc
from google.protobuf.message_factory import GetMessageClass

from llmzoo.serve.generated import environments_pb2 as pb

_SERVICE = pb.DESCRIPTOR.services_by_name["Environments"]


class EnvironmentsStub(SimpleNamespace):
    """A client's calls, such as ``stub.Describe(spec, timeout=30)``."""

    def __init__(self, channel: grpc.Channel):
        calls = {
            method.name: channel.unary_unary(
                f"/{_SERVICE.full_name}/{method.name}",
                request_serializer=GetMessageClass(method.input_type).SerializeToString,
                response_deserializer=GetMessageClass(method.output_type).FromString,
            )
            for method in _SERVICE.methods
        }
        super().__init__(**calls)


def add_to_server(service: object, server: grpc.Server | grpc.aio.Server) -> None:
    """Let a server answer the calls with the methods of ``service``, which have the calls' names."""
    handlers = {
        method.name: grpc.unary_unary_rpc_method_handler(
            getattr(service, method.name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=GetMessageClass(method.output_type).SerializeToString,
        )
        for method in _SERVICE.methods
    }
    handler = grpc.method_handlers_generic_handler(_SERVICE.full_name, handlers)
    server.add_generic_rpc_handlers((handler,))
