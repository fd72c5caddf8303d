"""A language model behind an endpoint with OpenAI's chat completions API, as a policy."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
import warnings
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from llmzoo.endpoints import (
    AUTO,
    ENDPOINT_PREFIX,
    OPENAI_URL,
    Endpoint,
    make_async_client,
    make_client,
    parse_endpoint,
)
from llmzoo.errors import ConfigError, EndpointError
from llmzoo.models.noise import noise_key
from llmzoo.policies.base import NoiseKeys, OnComplete, PolicyRequest
from llmzoo.policies.settings import Chat, Sampling, SamplingPolicy
from llmzoo.records import Completion
from llmzoo.terminal_text import escape_unprintable
from llmzoo.thoughts import marks_ending_with, strip_thoughts

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

T = TypeVar("T")
_MAX_PAUSE_S = 60.0
_DEAD_BEFORE_ANSWER, _DEAD_AFTER_ANSWER = (
    8,
    32,
)  # failed calls in a row, before and after the first answer
_MAX_AWAY_S = 60.0  # a server that has answered before may be away this long, such as for a restart
_RETRY_STATUSES = (408, 409, 429)  # statuses below 500 that another attempt may fix
_UNSUPPORTED_N_STATUSES = (
    400,
    422,
    500,
    501,
)  # statuses of servers that do not support several answers per call
# OpenAI's codes for a fault of one prompt, and how other servers say that it is too long
_PROMPT_CODES = ("context_length_exceeded", "content_filter", "content_policy_violation")
_TOO_LONG = re.compile(r"context.{0,10}(length|size|window)", re.IGNORECASE)


class EndpointPolicy(SamplingPolicy):
    """A model behind an endpoint for any number of agents. Needs the extra ``openai``.

    Parameters
    ----------
    endpoint: the model and its address; ``timeout_s`` limits each attempt.
    sampling: settings for every agent; ``samplings`` overrides them for single agents. None leaves them to
        the server. ``top_k`` is not part of OpenAI's API and is sent only if it is not 0.
    chat: system prompt, arguments of the server's chat template (vLLM and SGLang take them as
        ``chat_template_kwargs``, OpenAI's own API does not) and the end of a thought, for every
        agent; ``chats`` overrides them for single agents. ``system`` is short for
        ``Chat(system=...)``.
    workers: the most calls in flight.
    retries: further attempts after a transient failure: status 408, 409, 429 or 500 and above, no
        connection, a timeout, or a body that is not a chat completion.
    backoff_s: seconds before the first retry, doubled with each. A longer ``Retry-After`` of the
        server is respected, up to a minute.
    seed: of the sampling noise: every call sends a seed of its own, derived from it. The endpoint of
        ``llmzoo serve`` then gives the completions that the model would give in this process, up to
        rounding; others repeat theirs or not. None sends no seeds.

    If a server refuses a parameter that is not essential, later calls avoid it: they use
    ``max_completion_tokens`` instead of ``max_tokens``, leave out ``top_p=1`` and ``seed``, and sample a
    group by one call per answer instead of one call with ``n``.

    A completion's text is what follows the model's thoughts. The server may return thoughts
    separately, or within the content between the marks of a known family (:mod:`llmzoo.thoughts`).
    If ``thought_end`` is set, content without it is an unclosed thought, unless the server returns
    thoughts separately. An answer that ends inside a thought has an empty text. The first one
    raises a warning, and ``thoughts_unclosed`` counts them. Observations are sent unchanged; whether
    control tokens in them reach the model as text depends on the server.

    Completions carry no token ids, so they are never trained on. A call whose retries all fail
    returns an empty completion, and so does a prompt that the model refuses (too long, or against
    its provider's rules). The first one raises a warning, and ``answers_failed`` counts them.
    Failures that concern every prompt (a wrong key, an unknown model or address, an unsupported
    setting) raise :class:`ConfigError`. An endpoint counts as dead, and raises
    :class:`EndpointError`, after 8 failed calls if it has never answered, and after 32 failed calls
    in a row and a minute if it has. ``tokens_read`` and ``tokens_written`` are what the server
    has counted of prompts and answers.
    """

    prompt_style: str | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        sampling: Sampling | None = None,
        samplings: Mapping[str, Sampling] | None = None,
        system: str | None = None,
        chat: Chat | None = None,
        chats: Mapping[str, Chat] | None = None,
        workers: int = 16,
        retries: int = 3,
        backoff_s: float = 1.0,
        seed: int | None = None,
    ):
        if workers < 1 or retries < 0 or backoff_s < 0:
            raise ConfigError("workers is at least 1, retries and backoff_s are at least 0")
        if system is not None and chat is not None:
            raise ConfigError("system is part of chat: give one of them")
        self.chat = chat or Chat(system=system)
        self.chats = dict(chats or {})
        given = any(c.chat_template_args for c in (self.chat, *self.chats.values()))
        if given and endpoint.base_url == OPENAI_URL:
            raise ConfigError("OpenAI's own API takes no chat_template_args: servers of models do")
        make_client(
            endpoint
        ).close()  # a missing package or key shows now, not in the middle of play
        at = "" if endpoint.base_url == OPENAI_URL else f"@{endpoint.base_url}"
        self.name = f"{ENDPOINT_PREFIX}{endpoint.model}{at}"
        self.endpoint = endpoint
        self.sampling = sampling
        self.samplings = dict(samplings or {})
        self.workers = workers
        self.retries = retries
        self.backoff_s = backoff_s
        self.noise_keys = None if seed is None else NoiseKeys(seed)
        self.answers_failed = 0
        self.consecutive_failures = 0
        self.dead_after = _DEAD_BEFORE_ANSWER
        self.last_success_at = -math.inf  # by the clock of time.monotonic
        self.thoughts_unclosed = 0
        self.left_out: set[str] = set()  # parameters that this server refuses and calls leave out
        self.tokens_read = self.tokens_written = 0  # as the server counts them

    @classmethod
    def load(
        cls, name: str, *, timeout_s: float = 60.0, api_key_env: str | None = AUTO, **options: Any
    ) -> EndpointPolicy:
        """The policy called ``openai:MODEL`` or ``openai:MODEL@BASE_URL``; see
        :func:`llmzoo.endpoints.parse_endpoint`."""
        return cls(parse_endpoint(name, timeout_s=timeout_s, api_key_env=api_key_env), **options)

    def count(self, reply: Any) -> None:
        """Add the tokens that a server says it read and wrote; many say nothing."""
        usage = getattr(reply, "usage", None)
        for name, counter in (("prompt", "tokens_read"), ("completion", "tokens_written")):
            tokens = getattr(usage, f"{name}_tokens", None)
            if isinstance(tokens, int) and tokens > 0:
                setattr(self, counter, getattr(self, counter) + tokens)

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        return _run_coroutine(self._respond(requests, group_size, greedy))

    def reseed(self, seed: int) -> None:
        """Restart the sampling noise; also for copies of this policy, which share it."""
        if self.noise_keys is not None:
            self.noise_keys.reseed(seed)

    async def _respond(
        self, requests: Sequence[PolicyRequest], group_size: int, greedy: bool
    ) -> list[list[Completion]]:
        if self.noise_keys is not None:
            keys = self.noise_keys.keys(requests)
            requests = [replace(r, key=key) for r, key in zip(requests, keys, strict=True)]
        async with make_async_client(self.endpoint) as client:
            calls = _CallBatch(self, client)
            tasks = [asyncio.ensure_future(calls.answers(r, group_size, greedy)) for r in requests]
            try:
                return await asyncio.gather(*tasks)
            finally:  # an error in one ends the others
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def body(self, request: PolicyRequest, n: int, greedy: bool, number: int = 0) -> dict[str, Any]:
        """The arguments of one call for ``n`` answers, the first of which is the ``number``-th of a group."""
        messages = [{"role": "user", "content": str(request.observation)}]
        chat = self.chat_for(request.agent)
        if chat.system is not None:
            messages.insert(0, {"role": "system", "content": chat.system})
        body: dict[str, Any] = {"model": self.endpoint.model, "messages": messages}
        extra: dict[str, Any] = {}  # parameters that OpenAI's own API lacks
        if chat.chat_template_args:
            extra["chat_template_kwargs"] = dict(chat.chat_template_args)
        if n > 1:
            body["n"] = n
        if request.key is not None and self.noise_keys is not None and "seed" not in self.left_out:
            # equal seeds give equal answers
            body["seed"] = noise_key(request.key, "answer", number) if number else request.key
        sampling = self.sampling_for(request.agent)
        if sampling is not None:
            renamed = "max_tokens" in self.left_out
            body["max_completion_tokens" if renamed else "max_tokens"] = sampling.max_new_tokens
            body["temperature"] = sampling.temperature
            if sampling.top_p < 1 or "top_p" not in self.left_out:
                body["top_p"] = sampling.top_p
            if sampling.top_k:
                extra["top_k"] = sampling.top_k
            if sampling.stop:
                body["stop"] = list(sampling.stop)
        if extra:
            body["extra_body"] = extra
        if greedy:
            body["temperature"] = 0.0
        return body

    def completion(self, choice: ReplyChoice, chat: Chat) -> Completion:
        """A choice as a completion, without its thoughts."""
        end = chat.thought_end
        if choice.thoughts_separate or end == "none":
            return Completion(text=choice.text, truncated=choice.truncated)
        text = (
            strip_thoughts(choice.text)
            if end is None
            else strip_thoughts(choice.text, [marks_ending_with(end)], starts_in_thought=True)
        )
        if text is None:
            if self.thoughts_unclosed == 0:
                warnings.warn(
                    f"{self.name}: an answer ended inside a thought, and so is empty: raise "
                    "max_new_tokens, or switch thinking off, which many models do with "
                    "chat_template_args enable_thinking=false",
                    stacklevel=2,
                )
            self.thoughts_unclosed += 1
        return Completion(text=text or "", truncated=choice.truncated)

    def failed_completion(self, why: str, *, refused: bool = False) -> Completion:
        """The empty completion of a failed call. ``refused``: because of this prompt."""
        if self.answers_failed == 0:
            warnings.warn(
                f"{self.name}: a call failed ({escape_unprintable(why)}); it is answered with an empty text and not "
                "trained on, as are later ones; answers_failed counts them",
                stacklevel=2,
            )
        self.answers_failed += 1
        return Completion(text="", refused=refused, failure="" if refused else why)

    def record_success(self) -> None:
        """Note that the endpoint has answered."""
        self.consecutive_failures, self.dead_after = 0, _DEAD_AFTER_ANSWER
        self.last_success_at = time.monotonic()

    def record_failure(self, why: str) -> None:
        """Count a call whose attempts have all failed; raises :class:`EndpointError` for a dead endpoint."""
        self.consecutive_failures += 1
        away = time.monotonic() - self.last_success_at
        if self.consecutive_failures >= self.dead_after and away >= _MAX_AWAY_S:
            raise EndpointError(
                f"{self.name} does not answer: {self.consecutive_failures} calls in a row failed, the last one "
                f"with: {why}. Check that the server runs at this address"
            )


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """One choice of a reply. ``thoughts_separate``: the server returned thoughts separately."""

    text: str
    truncated: bool
    thoughts_separate: bool


class _CallError(Exception):
    """A call without an answer.

    ``single_may_work``: a call for a single answer may succeed. ``refused``: because of this prompt.
    """

    def __init__(self, why: str, *, single_may_work: bool = False, refused: bool = False):
        super().__init__(why)
        self.single_may_work = single_may_work
        self.refused = refused


class _CallBatch:
    """The calls of one ``respond``, with at most ``policy.workers`` in flight."""

    def __init__(self, policy: EndpointPolicy, client: AsyncOpenAI):
        self.policy = policy
        self.client = client
        self.slots = asyncio.Semaphore(policy.workers)
        self.jitter_rng = random.Random()  # spreads retries in time, without the global generator

    async def answers(
        self, request: PolicyRequest, group_size: int, greedy: bool
    ) -> list[Completion]:
        """All answers of a group: by one call if the server supports it, else by one call each."""
        completions: list[Completion] = []
        in_one_call = group_size > 1 and "n" not in self.policy.left_out
        if in_one_call:
            try:
                completions = (await self._call(request, group_size, greedy))[:group_size]
            except _CallError as failure:
                if not failure.single_may_work:
                    return [self._failed_completion(failure) for _ in range(group_size)]
        singles = await asyncio.gather(
            *(
                self._answer_or_error(request, greedy, n)
                for n in range(len(completions), group_size)
            )
        )
        if in_one_call and any(not isinstance(answer, _CallError) for answer in singles):
            self.policy.left_out.add("n")
        return completions + [
            self._failed_completion(a) if isinstance(a, _CallError) else a for a in singles
        ]

    def _failed_completion(self, failure: _CallError) -> Completion:
        return self.policy.failed_completion(str(failure), refused=failure.refused)

    async def _answer_or_error(
        self, request: PolicyRequest, greedy: bool, number: int
    ) -> Completion | _CallError:
        try:
            return (await self._call(request, 1, greedy, number))[0]
        except _CallError as failure:
            return failure

    async def _call(
        self, request: PolicyRequest, n: int, greedy: bool, number: int = 0
    ) -> list[Completion]:
        """The answers of one call: at least one, at most n. Raises ``_CallError``."""
        import openai

        policy = self.policy
        attempt = 0
        async with self.slots:
            while True:
                body = policy.body(request, n, greedy, number)
                single_may_work, asked_pause = False, 0.0
                try:
                    create = self.client.chat.completions.create(**body)
                    reply = await asyncio.wait_for(create, policy.endpoint.timeout_s)
                    choices = _parse_choices(reply)
                    policy.count(reply)
                    policy.record_success()
                    chat = policy.chat_for(request.agent)
                    return [policy.completion(one, chat) for one in choices]
                except openai.APIStatusError as error:
                    status = error.status_code
                    why = f"status {status}: {policy.endpoint.refusal(error)}"
                    single_may_work = n > 1 and status in _UNSUPPORTED_N_STATUSES
                    refused = _refused_optional_parameter(error, body)
                    if refused is not None:
                        policy.left_out.add(refused)
                        continue
                    if _refuses_this_prompt(error):
                        policy.record_success()
                        raise _CallError(why, refused=True) from error
                    if status < 500 and status not in _RETRY_STATUSES:
                        if single_may_work:
                            raise _CallError(why, single_may_work=True) from error
                        raise ConfigError(f"{policy.name} refuses to answer: {why}") from None
                    asked_pause = _retry_after(error)
                except asyncio.TimeoutError:
                    why = f"no answer within {policy.endpoint.timeout_s:g} s"
                except openai.OpenAIError as error:  # no connection
                    why = f"{type(error).__name__}: {error.__cause__ or error}"
                    why = policy.endpoint.redact_key(why)[:300]
                except (ValueError, RecursionError) as error:
                    why = policy.endpoint.redact_key(f"no chat completion: {error}")[:300]
                if attempt == policy.retries:
                    why = f"{why}, at attempt {attempt + 1}"
                    if not single_may_work:  # otherwise single answers are asked for
                        policy.record_failure(why)
                    raise _CallError(why, single_may_work=single_may_work)
                pause = policy.backoff_s * 2**attempt * self.jitter_rng.uniform(0.75, 1.0)
                await asyncio.sleep(min(max(pause, asked_pause), _MAX_PAUSE_S))
                attempt += 1


def _parse_choices(reply: Any) -> list[ReplyChoice]:
    """The answers in a reply; raises ``ValueError`` for any other body.

    The client checks no types, so a malformed body shows only when its fields are read.
    """
    try:
        choices = [(choice.message, choice.finish_reason) for choice in reply.choices]
        contents = [message.content for message, _ in choices]
        extras = [message.model_extra or {} for message, _ in choices]
    except (AttributeError, TypeError) as error:
        raise ValueError("a body of another form") from error
    if not choices:
        raise ValueError("no choices")
    parsed = []
    for content, extra, (_, reason) in zip(contents, extras, choices, strict=True):
        if not isinstance(content, (str, type(None))):
            raise ValueError(f"content of type {type(content).__name__}")
        # tokenizers cannot read lone surrogates
        text = (content or "").encode("utf-8", "replace").decode("utf-8")
        thoughts_separate = bool(extra.get("reasoning_content") or extra.get("reasoning"))
        parsed.append(ReplyChoice(text, reason == "length", thoughts_separate))
    return parsed


def _refused_optional_parameter(error: APIStatusError, body: Mapping[str, Any]) -> str | None:
    """The parameter that the server refuses and the call does not need; None for another refusal."""
    if error.status_code not in (400, 422):
        return None
    if error.param == "top_p" and body.get("top_p") == 1.0:
        return "top_p"
    if error.param == "max_tokens" and "max_tokens" in body:
        return "max_tokens"
    # many servers do not say which parameter they refuse
    refuses_seed = error.param == "seed" or re.search(r"\bseed\b", error.message, re.IGNORECASE)
    return "seed" if "seed" in body and refuses_seed else None


def _refuses_this_prompt(error: APIStatusError) -> bool:
    """Whether the server refuses this prompt, not every prompt."""
    if error.status_code == 413 or error.code in _PROMPT_CODES:
        return True
    return error.status_code == 400 and _TOO_LONG.search(error.message) is not None


def _retry_after(error: APIStatusError) -> float:
    """Seconds that the server asks to wait; 0 if it does not give a number of seconds."""
    try:
        seconds = float(error.response.headers.get("retry-after", 0))
    except ValueError:  # a date
        return 0.0
    return seconds if seconds > 0 else 0.0  # not so for NaN


def _run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even inside a running event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
