"""Requests and answers of a policy as messages, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.settings import Sampling
from llmzoo.records import Completion
from llmzoo.serve import validation
from llmzoo.serve.generated import policies_pb2 as pb
from llmzoo.serve.policies_hosted import REMOTE_ENV_PLACEHOLDER


def request_to_ask(request: PolicyRequest, key: int) -> pb.Ask:
    """A request with the key of its noise. Raises ``ValueError`` for a seed of more than 64 bits."""
    return pb.Ask(
        agent=_text(request.agent),
        observation=_text(str(request.observation)),
        key=key,
        seed=request.seed,
    )


def request_from_ask(ask: pb.Ask) -> PolicyRequest:
    return PolicyRequest(
        agent=ask.agent,
        observation=ask.observation,
        env=REMOTE_ENV_PLACEHOLDER,
        seed=ask.seed,
        key=ask.key,
    )


def sampling_to_message(sampling: Sampling) -> pb.Sampling:
    return pb.Sampling(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_new_tokens=sampling.max_new_tokens,
        stop=sampling.stop,
    )


def sampling_from_message(message: pb.Sampling) -> Sampling:
    """The settings of a message. Raises ``ValueError`` for invalid ones."""
    return Sampling(
        temperature=message.temperature,
        top_p=message.top_p,
        top_k=message.top_k,
        max_new_tokens=message.max_new_tokens,
        stop=tuple(message.stop),
    )


def completions_to_messages(
    answers: Iterable[tuple[int, Sequence[Completion]]], part_bytes: int
) -> Iterator[pb.Answers]:
    """Completions with the number of their ask, in messages of at most about ``part_bytes``.

    Raises ``ValueError`` if the completions of one ask have different prompts.
    """
    message, room = pb.Answers(), part_bytes
    for ask, completions in answers:
        for part in _parts(ask, completions, part_bytes):
            size = part.ByteSize()
            if message.answers and size > room:
                yield message
                message, room = pb.Answers(), part_bytes
            message.answers.append(part)
            room -= size
    yield message


def _parts(ask: int, completions: Sequence[Completion], part_bytes: int) -> Iterator[pb.Answer]:
    prompts = {completion.prompt_ids for completion in completions}
    if len(prompts) > 1:
        raise ValueError("the completions of one request begin with different prompts")
    answer = pb.Answer(ask=ask, prompt_ids=[ids for prompt in prompts for ids in prompt])
    room = part_bytes - answer.ByteSize()
    for completion in completions:
        message = pb.Completion(
            text=_text(completion.text),
            ids=completion.ids,
            logprobs=completion.logprobs,
            truncated=completion.truncated,
            refused=completion.refused,
        )
        size = message.ByteSize()
        if answer.completions and size > room:
            yield answer
            answer, room = pb.Answer(ask=ask), part_bytes
        answer.completions.append(message)
        room -= size
    yield answer


def completions_from_answer(answer: pb.Answer, prompt_ids: tuple[int, ...]) -> list[Completion]:
    """The completions of one part. ``prompt_ids``: from the first part of the request.

    Raises :class:`llmzoo.serve.validation.RemoteError` if ids and log-probabilities differ in number.
    """
    if any(len(message.ids) != len(message.logprobs) for message in answer.completions):
        raise validation.invalid_reply_error("gives ids and probabilities of different numbers")
    return [
        Completion(
            text=message.text,
            prompt_ids=prompt_ids,
            ids=tuple(message.ids),
            logprobs=tuple(message.logprobs),
            truncated=message.truncated,
            refused=message.refused,
        )
        for message in answer.completions
    ]


def _text(text: str) -> str:
    """A text in valid UTF-8; lone surrogates, which no tokenizer reads, become ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")
