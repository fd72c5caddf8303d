"""Errors that a server reports for an item, raised on the client's side."""

from __future__ import annotations

import sys

import grpc

from llmzoo.errors import ConfigError, NoScriptedPolicyError, NoSolutionError, SandboxError
from llmzoo.serve.channel import Address, RemoteError
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.validation import to_single_line

# codes of a call that the server did not begin: too large, too many calls, no token
NOT_BEGUN = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED)

_CODES = {code.value[0]: code for code in grpc.StatusCode}
# exceptions of environments keep their class; all others become a RemoteError
_RAISED: dict[str, type[Exception]] = {
    "AssertionError": AssertionError,
    "AttributeError": AttributeError,
    "ConfigError": ConfigError,
    "IndexError": IndexError,
    "KeyError": KeyError,
    "NoScriptedPolicyError": NoScriptedPolicyError,
    "NoSolutionError": NoSolutionError,
    "NotImplementedError": NotImplementedError,
    "SandboxError": SandboxError,
    "TypeError": TypeError,
    "UnknownNameError": ConfigError,
    "UntypedError": TypeError,
    "ValueError": ValueError,
}


class SessionLostError(RemoteError):
    """The session no longer exists on the server. ``reset()`` opens a new one."""


def error_from_status(status: pb.Status, address: Address) -> Exception:
    """The exception that a status stands for."""
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    message = to_single_line(status.message)
    if status.lost:
        return SessionLostError(
            f"the episode at {address} is lost: {message}. reset() begins a new one", code
        )
    if status.error in _RAISED:
        error = _RAISED[status.error](message)
        if sys.version_info >= (3, 11):
            error.add_note(f"raised by the server at {address.server}")
        return error
    return RemoteError(f"the server at {address.server}: {message}", code)
