"""The gRPC service of a policy. It batches the requests of all clients."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import grpc

from llmzoo.errors import ConfigError
from llmzoo.policies.base import Policy
from llmzoo.policies.settings import Sampling
from llmzoo.serve.admission import ServedCall
from llmzoo.serve.generated import policies_pb2 as pb
from llmzoo.serve.generated import policies_pb2_grpc
from llmzoo.serve.hosting import MAX_MESSAGE_BYTES
from llmzoo.serve.policies_batching import Batcher, CallSettings, PolicyCall, ServerBusyError
from llmzoo.serve.policies_hosted import HostedPolicy
from llmzoo.serve.policies_wire import (
    completions_to_messages,
    request_from_ask,
    sampling_from_message,
    sampling_to_message,
)

_RESTARTED_MESSAGE = (
    "it has restarted since this client began, maybe with another model: start again, or resume the "
    "run"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLimits:
    """What clients may ask of a policy.

    ``requests`` and ``rows`` (requests times answers): per call; clients split larger calls.
    ``new_tokens``: per answer. ``prompt_characters``: per observation. ``call_characters``: the
    observations of a call, and of calls that are answered together; longer input is refused before
    it is tokenised. ``message_bytes``: per message, at most the server's own limit.
    ``microbatch_rows``: of calls that are answered together. ``calls``: calls that may wait; each
    holds a thread of the server.
    """

    requests: int = 4096
    rows: int = 16384
    new_tokens: int = 4096
    prompt_characters: int = 200_000
    call_characters: int = 4_000_000
    message_bytes: int = MAX_MESSAGE_BYTES
    microbatch_rows: int = 512
    calls: int = 64

    def __post_init__(self) -> None:
        counts = (self.requests, self.rows, self.new_tokens, self.microbatch_rows, self.calls)
        if min(*counts, self.prompt_characters, self.call_characters) < 1:
            raise ConfigError("the limits of a policy server are at least 1")
        if self.prompt_characters > self.call_characters:
            raise ConfigError("prompt_characters cannot be above call_characters")
        if self.message_bytes < 2**16:
            raise ConfigError(f"message_bytes is at least 65536, got {self.message_bytes}")


class _ServerRestartedError(Exception):
    """The request is for an earlier start of the server."""


class PolicyService(policies_pb2_grpc.PoliciesServicer):
    """Serves one policy; a :class:`llmzoo.serve.hosting.Service`.

    The policy may use only the agent, the observation and the seed of a request. Raises
    :class:`ConfigError` if the policy's own settings exceed the limits.
    """

    name = "llmzoo.v1.Policies"

    def __init__(self, policy: Policy, *, limits: PolicyLimits | None = None):
        self.limits = limits or PolicyLimits()
        self._part_bytes = min(2**20, self.limits.message_bytes // 2)
        self.instance = secrets.token_hex(8)
        self._hosted = HostedPolicy(policy)
        if self._hosted.sampling is not None:
            self._check_length(self._hosted.sampling)
        self._batcher = Batcher(
            self._hosted,
            rows=self.limits.microbatch_rows,
            characters=self.limits.call_characters,
            calls=self.limits.calls,
        )

    @property
    def waiting(self) -> int:
        """Calls that the model has not started on."""
        return self._batcher.waiting

    def register(self, server: grpc.aio.Server) -> None:
        policies_pb2_grpc.add_PoliciesServicer_to_server(self, server)

    def close(self) -> None:
        self._batcher.close()

    def Info(self, request: pb.PolicyInfoRequest, context: ServedCall) -> pb.PolicyInfo:
        sampling = self._hosted.sampling
        return pb.PolicyInfo(
            name=self._hosted.policy.name,
            instance=self.instance,
            prompt_style=self._hosted.policy.prompt_style,
            sampling=None if sampling is None else sampling_to_message(sampling),
            context=self._hosted.context,
            limits=pb.GenerateLimits(
                requests=self.limits.requests,
                rows=self.limits.rows,
                new_tokens=self.limits.new_tokens,
                message_bytes=self.limits.message_bytes,
                prompt_characters=self.limits.prompt_characters,
                call_characters=self.limits.call_characters,
            ),
        )

    def Generate(self, request: pb.GenerateRequest, context: ServedCall) -> Iterator[pb.Answers]:
        with _abort_on_error(context):
            call = self._call(request)
            # runs whenever the call ends: a vanished client costs nothing more
            if not context.add_callback(partial(self._batcher.cancel, call)):
                return
            self._batcher.take(call)
            for answers in call.answers():
                yield from completions_to_messages(answers, self._part_bytes)

    def _call(self, request: pb.GenerateRequest) -> PolicyCall:
        """The call for a request. Raises :class:`ConfigError` if it is not allowed."""
        if request.instance not in ("", self.instance):
            raise _ServerRestartedError
        if request.k < 1 or (request.greedy and request.k > 1) or not request.asks:
            raise ConfigError("k must be at least 1, and 1 with greedy; asks must hold some")
        count, rows = len(request.asks), len(request.asks) * request.k
        if count > self.limits.requests or rows > self.limits.rows:
            raise ConfigError(
                f"{count} requests with {request.k} answers each are too many for one call: the "
                f"limits are {self.limits.requests} requests and {self.limits.rows} rows"
            )
        self._check_characters([len(ask.observation) for ask in request.asks])
        sampling = None
        if request.HasField("sampling"):
            if self._hosted.sampling is None:
                raise ConfigError(f"{self._hosted.policy.name} takes no sampling settings")
            try:
                sampling = sampling_from_message(request.sampling)
            except ValueError as error:
                raise ConfigError(str(error)) from error
            self._check_length(sampling)
        settings = CallSettings(group_size=request.k, greedy=request.greedy, sampling=sampling)
        return PolicyCall([request_from_ask(ask) for ask in request.asks], settings)

    def _check_characters(self, lengths: Sequence[int]) -> None:
        """Raise :class:`ConfigError` for long input before it is tokenised."""
        limits = self.limits
        if max(lengths) > limits.prompt_characters or sum(lengths) > limits.call_characters:
            raise ConfigError(
                f"an observation has at most {limits.prompt_characters} characters here and those of "
                f"a call {limits.call_characters}, got {max(lengths)} and {sum(lengths)}: send less "
                "in a call, or start the server with a higher --policy.prompt_characters or "
                "--policy.call_characters"
            )

    def _check_length(self, sampling: Sampling) -> None:
        if sampling.max_new_tokens > self.limits.new_tokens:
            raise ConfigError(
                f"max_new_tokens={sampling.max_new_tokens} is above the limit of this server, "
                f"{self.limits.new_tokens}"
            )


@contextmanager
def _abort_on_error(context: ServedCall) -> Iterator[None]:
    """End the call with a status that explains what was raised inside."""
    try:
        yield
    except _ServerRestartedError:
        code, message = grpc.StatusCode.FAILED_PRECONDITION, _RESTARTED_MESSAGE
    except ServerBusyError as error:
        code, message = grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)
    except ConfigError as error:
        code, message = grpc.StatusCode.INVALID_ARGUMENT, str(error)
    except Exception as error:
        code, message = (
            grpc.StatusCode.INTERNAL,
            f"the policy raised {type(error).__name__}: {error}",
        )
    else:
        return
    context.abort(code, message)
