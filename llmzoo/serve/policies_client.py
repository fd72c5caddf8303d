"""A policy on a server, used like a local policy."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import grpc

from llmzoo.errors import ConfigError
from llmzoo.policies.base import NoiseKeys, OnComplete, PolicyRequest
from llmzoo.policies.settings import Sampling, SamplingPolicy
from llmzoo.records import Completion
from llmzoo.serve import validation
from llmzoo.serve.channel import (
    Address,
    RemoteError,
    call_server,
    connect,
    parse_address,
    translate_rpc_errors,
)
from llmzoo.serve.generated import policies_pb2 as pb
from llmzoo.serve.generated import policies_pb2_grpc
from llmzoo.serve.hosting import GREATEST_MESSAGE_BYTES
from llmzoo.serve.policies_wire import (
    completions_from_answer,
    request_to_ask,
    sampling_from_message,
    sampling_to_message,
)

_INFO_TIMEOUT_S = 20.0  # seconds to wait for the server's description
_RETRYABLE_CODES = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)


def load(name: str, **options: Any) -> RemotePolicy:
    """The policy of the server ``grpc://host:port``, or ``grpcs://`` with TLS."""
    address = parse_address(name)
    if address.name:
        raise ConfigError(
            f"{name!r} names an environment: a policy is all of a server, write {address.server}"
        )
    return RemotePolicy(address, **options)


class RemotePolicy(SamplingPolicy):
    """A model on a policy server (``llmzoo serve --policy NAME``) for any number of agents.

    Parameters
    ----------
    address: of the server; :mod:`llmzoo.serve.channel` says where the token and TLS files come from.
    sampling: settings for every agent; ``samplings`` overrides them for single agents. None leaves them to
        the server. They are ignored if the server's policy takes none.
    seed: of the sampling noise.
    timeout_s: seconds that a call may take, including its time in the server's queue.
    retries: further attempts for a call that was interrupted or refused because too many wait; they
        ask only for missing answers.
    backoff_s: seconds before the first retry, doubled with each.

    The sampling noise is generated here, so the same seed gives the answers that the model would
    give in this process: exactly if the same requests are asked together and no other client asks at
    the time, otherwise up to rounding. Completions carry ids and log-probabilities, but the model
    cannot be trained from here.

    Raises :class:`ConfigError` for settings beyond the server's limits, and
    :class:`llmzoo.serve.channel.RemoteError` for a server that cannot be reached, refuses the
    token, or was restarted, since it may serve other weights now.
    """

    def __init__(
        self,
        address: Address,
        *,
        sampling: Sampling | None = None,
        samplings: Mapping[str, Sampling] | None = None,
        seed: int = 0,
        timeout_s: float = 3600.0,
        retries: int = 3,
        backoff_s: float = 1.0,
    ):
        if retries < 0 or backoff_s < 0 or not timeout_s > 0:
            raise ConfigError("retries and backoff_s are at least 0, timeout_s is above 0")
        self.address = address
        self.noise_keys = NoiseKeys(seed)
        self.timeout_s = timeout_s
        self.retries = retries
        self.backoff_s = backoff_s
        self._warned = False
        channel = connect(address)
        info = policies_pb2_grpc.PoliciesStub(channel).Info
        self._info = call_server(channel, info, pb.PolicyInfoRequest(), address, _INFO_TIMEOUT_S)
        self._check(self._info)
        self.name = f"{validation.to_single_line(self._info.name, 200)}@{address}"
        styled = self._info.HasField("prompt_style")
        self.prompt_style: str | None = self._info.prompt_style if styled else None
        takes = self._info.HasField("sampling")
        with validation.translate_parse_errors("its settings"):
            self._own = sampling_from_message(self._info.sampling) if takes else None
        self.sampling = sampling if takes else None
        self.samplings = dict(samplings or {}) if takes else {}
        for chosen in (self.sampling, *self.samplings.values()):
            if chosen is not None:
                self._check_length(chosen)

    @property
    def context(self) -> int | None:
        return self._info.context if self._info.HasField("context") else None

    def with_sampling_for_all(self, sampling: Sampling) -> RemotePolicy:
        self._check_length(sampling)
        return super().with_sampling_for_all(sampling)

    def with_sampling(self, **changes: Any) -> RemotePolicy:
        """This policy under the server's own settings with these changes, for every agent.

        Raises ``ValueError`` for settings that mean nothing, and :class:`ConfigError` where the
        server's policy takes none.
        """
        if self._own is None:
            raise ConfigError(f"{self.name} takes no sampling settings")
        return self.with_sampling_for_all(replace(self._own, **changes))

    def reseed(self, seed: int) -> None:
        """Restart the sampling noise; also for copies of this policy, which share it."""
        self.noise_keys.reseed(seed)

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        keys = self.noise_keys.keys(requests)
        answers: list[list[Completion]] = [[] for _ in requests]

        def deliver(index: int, completions: list[Completion]) -> None:
            answers[index] = completions
            if on_complete is not None:
                on_complete(index, completions)

        by_sampling: dict[Sampling | None, list[int]] = {}
        for index, request in enumerate(requests):
            by_sampling.setdefault(self.sampling_for(request.agent), []).append(index)
        for sampling, indices in by_sampling.items():
            call = pb.GenerateRequest(instance=self._info.instance, k=group_size, greedy=greedy)
            if sampling is not None:
                call.sampling.CopyFrom(sampling_to_message(sampling))
            asks: dict[int, pb.Ask] = {}
            for index in indices:
                if self._is_too_long(requests[index]):
                    deliver(index, [Completion(text="", refused=True) for _ in range(group_size)])
                else:
                    asks[index] = self._ask(requests[index], keys[index])
            for part in self._split_asks(asks, group_size, call.ByteSize()):
                with closing(self._generate(call, part)) as generated:
                    for index, completions in generated:
                        self._warn_if_refused(completions)
                        deliver(index, completions)
        return answers

    def _is_too_long(self, request: PolicyRequest) -> bool:
        most = self._info.limits.prompt_characters  # 0: the server does not say
        length = len(str(request.observation))
        if not most or length <= most:
            return False
        self._warn_once(f"a prompt of {length} characters was refused: {self.address} takes {most}")
        return True

    def _warn_once(self, refusal: str) -> None:
        """Warn, once, that a prompt was not answered."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name}: {refusal}; it is answered with an empty text", stacklevel=5
            )

    def _warn_if_refused(self, completions: Sequence[Completion]) -> None:
        """Warn, once, about a prompt that was too long for the model."""
        prompt = completions[0].prompt_ids
        if prompt and not completions[0].ids:
            self._warn_once(
                f"a prompt of {len(prompt)} tokens was refused, as one is that does not fit the "
                "model's context"
            )

    def _ask(self, request: PolicyRequest, key: int) -> pb.Ask:
        try:
            return request_to_ask(request, key)
        except ValueError as error:
            raise ConfigError(f"the seed {request.seed} does not fit 64 bits: {error}") from error

    def _split_asks(
        self, asks: Mapping[int, pb.Ask], group_size: int, reserved_bytes: int
    ) -> Iterator[dict[int, pb.Ask]]:
        """The asks of each call, within the server's limits. ``reserved_bytes``: bytes of the other
        fields."""
        limits = self._info.limits
        most, room = (
            min(limits.requests, limits.rows // group_size),
            limits.message_bytes - reserved_bytes,
        )
        if most < 1:
            raise ConfigError(f"{self.address} gives at most {limits.rows} answers to a prompt")
        characters = limits.call_characters or math.inf
        part: dict[int, pb.Ask] = {}
        size = length = 0
        for index, ask in asks.items():
            more = ask.ByteSize() + 16  # what goes before it in the message
            if more > room:
                raise ConfigError(
                    f"an observation of {len(ask.observation)} characters is beyond the "
                    f"{limits.message_bytes} bytes that {self.address} takes"
                )
            longer = length + len(ask.observation)
            if part and (len(part) == most or size + more > room or longer > characters):
                yield part
                part, size, longer = {}, 0, len(ask.observation)
            part[index] = ask
            size, length = size + more, longer
        if part:
            yield part

    def _generate(
        self, call: pb.GenerateRequest, asks: Mapping[int, pb.Ask]
    ) -> Generator[tuple[int, list[Completion]], None, None]:
        """Each ask's number with its completions. Interrupted asks are repeated."""
        left = dict(asks)
        attempt = 0
        while left:
            try:
                with closing(self._stream(call, left)) as stream:
                    for index, completions in stream:
                        del left[index]
                        yield index, completions
            except RemoteError as error:
                if error.code not in _RETRYABLE_CODES or attempt == self.retries:
                    raise
                time.sleep(self.backoff_s * 2**attempt)
                attempt += 1

    def _stream(
        self, call: pb.GenerateRequest, asks: Mapping[int, pb.Ask]
    ) -> Generator[tuple[int, list[Completion]], None, None]:
        """One call. Closing the generator early cancels it."""
        indices = list(asks)
        answers: list[list[Completion]] = [[] for _ in indices]
        prompts: list[tuple[int, ...]] = [() for _ in indices]
        request = pb.GenerateRequest(asks=asks.values())
        request.MergeFrom(call)
        with translate_rpc_errors(self.address):
            stream = self._stub().Generate(request, timeout=self.timeout_s)
            try:
                for part in (part for message in stream for part in message.answers):
                    at = part.ask
                    if at >= len(answers) or not 1 <= len(part.completions) <= call.k - len(
                        answers[at]
                    ):
                        raise validation.invalid_reply_error("answers what it was not asked")
                    if not answers[at]:
                        prompts[at] = tuple(part.prompt_ids)
                    answers[at] += completions_from_answer(part, prompts[at])
                    if len(answers[at]) == call.k:
                        yield indices[at], answers[at]
            finally:
                stream.cancel()
        unfinished = sum(len(completions) < call.k for completions in answers)
        if unfinished:
            raise RemoteError(
                f"the server at {self.address} ended without the answers to {unfinished} requests",
                grpc.StatusCode.DATA_LOSS,
            )

    def _check(self, info: pb.PolicyInfo) -> None:
        """Raise :class:`llmzoo.serve.validation.RemoteError` for limits that no client can keep."""
        for limit in ("requests", "rows", "new_tokens"):
            validation.check_number(getattr(info.limits, limit), 1, 2**32, limit)
        validation.check_number(
            info.limits.message_bytes, 2**16, GREATEST_MESSAGE_BYTES, "a message's bytes"
        )

    def _check_length(self, sampling: Sampling) -> None:
        most = self._info.limits.new_tokens
        if sampling.max_new_tokens > most:
            raise ConfigError(
                f"max_new_tokens={sampling.max_new_tokens} is above the limit of {self.address}, "
                f"{most}"
            )

    def _stub(self) -> policies_pb2_grpc.PoliciesStub:
        return policies_pb2_grpc.PoliciesStub(connect(self.address))
