"""Reads requests of OpenAI's API: chat completions, and completions of plain texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.envs.programs.http_server import RequestError
from llmzoo.envs.programs.messages import ProgramCall, to_json_data, validate_messages
from llmzoo.errors import LlmzooError, UnknownNameError
from llmzoo.models.sampling_settings import MAX_TEMPERATURE, MIN_TEMPERATURE
from llmzoo.serve.batching import CallSettings
from llmzoo.serve.served_models import ServedModel
from llmzoo.spaces import PlainPrompt

_SEED_BOUND = 2**63
_CHANGE_NOTHING = ("user", "metadata", "safety_identifier", "prompt_cache_key")
_NO_PENALTY = ((0,), "the sampler has no penalties: leave it out")
_CHAT_TEMPLATE = "how a model thinks is set by --chat_template_args of llmzoo serve: leave it out"
# fields without an effect here: the values that ask for none, and what to do about others
_UNSUPPORTED: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "presence_penalty": _NO_PENALTY,
    "frequency_penalty": _NO_PENALTY,
    "logit_bias": (({},), "the sampler takes no bias: leave it out"),
    "response_format": (
        ({"type": "text"},),
        "a model writes text and is held to no schema: ask for the form in the prompt",
    ),
    "tool_choice": (("auto",), "the model chooses its tools: leave it out, or send no tools"),
    "parallel_tool_calls": ((True,), "the model chooses its tools: leave it out"),
    "functions": ((), "send tools instead"),
    "function_call": ((), "send tools instead"),
    "service_tier": (("auto", "default"), "there is one tier: leave it out"),
    "store": (
        (False,),
        "nothing is stored: leave it out; llmzoo serve gateway records completions",
    ),
    "modalities": ((["text"],), "models write text: leave it out"),
    "audio": ((), "models write text: leave it out"),
    "prediction": ((), "completions are not predicted: leave it out"),
    "web_search_options": ((), "there is no search: leave it out, or send tools"),
    "verbosity": ((), "ask for the length in the prompt: leave it out"),
    "reasoning_effort": ((), _CHAT_TEMPLATE),
    "chat_template_kwargs": (({},), _CHAT_TEMPLATE),
    "top_logprobs": ((0,), "only sampled tokens have log-probabilities: leave it out, or send 0"),
    "best_of": ((1,), "use n, and choose among the choices"),
    "echo": ((False,), "put the prompt before the completion yourself"),
    "suffix": (("",), "models write forwards: leave it out"),
}
_COMMON = (
    *("model", "n", "stream", "stream_options", "logprobs", "max_tokens", "temperature"),
    *("top_p", "top_k", "stop", "seed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """A request for ``n`` completions of each of ``prompts``.

    ``call``: what a chat completion was asked with; None: completions of plain texts. ``seed``: None for
    completions that cannot be repeated. ``include_usage``: a stream ends with the numbers of tokens.
    """

    model: ServedModel
    prompts: tuple[str, ...]
    call: ProgramCall | None
    settings: CallSettings
    n: int
    seed: int | None
    logprobs: bool
    stream: bool
    include_usage: bool

    @property
    def max_new_tokens(self) -> int:
        assert self.settings.sampling is not None
        return self.settings.sampling.max_new_tokens


def parse_chat_request(
    body: Mapping[str, Any], models: Mapping[str, ServedModel], max_choices: int
) -> CompletionRequest:
    """A request for chat completions. Raises :class:`RequestError`, which names the field at fault."""
    reader = _FieldReader(
        body, (*_COMMON, "messages", "tools", "max_completion_tokens"), models, max_choices
    )
    messages = reader.read("messages", validate_messages)
    tools = reader.read("tools", _parse_tools) if "tools" in body else ()
    logprobs = reader.flag("logprobs")
    request = reader.request(logprobs=logprobs)
    call = ProgramCall(request.model.name, messages, tools)
    return replace(request, prompts=(call.observation(),), call=call)


def parse_text_request(
    body: Mapping[str, Any], models: Mapping[str, ServedModel], max_choices: int
) -> CompletionRequest:
    """A request for completions of texts. Raises :class:`RequestError`, which names the field at fault."""
    reader = _FieldReader(body, (*_COMMON, "prompt"), models, max_choices)
    prompts = reader.read("prompt", _parse_prompts)
    logprobs = "logprobs" in body and body["logprobs"] is not False
    if logprobs and reader.whole_number("logprobs", 0, 5) > 0:
        raise RequestError(400, f"logprobs: {_UNSUPPORTED['top_logprobs'][1]}", param="logprobs")
    return reader.request(prompts=prompts, logprobs=logprobs)


class _FieldReader:
    """Reads the fields of a request, and says in errors which one is at fault."""

    def __init__(
        self,
        body: Mapping[str, Any],
        known: tuple[str, ...],
        models: Mapping[str, ServedModel],
        max_choices: int,
    ):
        self._body, self._max_choices = body, max_choices
        for name, value in body.items():
            if name in _UNSUPPORTED:
                neutral, remedy = _UNSUPPORTED[name]
                if value not in neutral:
                    raise RequestError(
                        400,
                        f"{name} is not supported: {remedy}",
                        param=name,
                        code="unsupported_parameter",
                    )
            elif name not in known and name not in _CHANGE_NOTHING:
                raise RequestError(
                    400,
                    str(UnknownNameError("field of a request", name[:100], known)),
                    param=name[:100],
                    code="unknown_parameter",
                )
        model = body.get("model")
        if not isinstance(model, str) or model not in models:
            raise RequestError(
                404 if isinstance(model, str) else 400,
                str(UnknownNameError("model", str(model)[:100], models)),
                param="model",
                code="model_not_found",
            )
        self._model = models[model]

    def read(self, name: str, parse: Callable[[Any], Any]) -> Any:
        """The field as ``parse`` returns it."""
        if name not in self._body:
            raise RequestError(400, f"{name} is missing: send it", param=name)
        try:
            return parse(self._body[name])
        except LlmzooError as error:
            raise RequestError(400, str(error), param=name) from None

    def flag(self, name: str) -> bool:
        value = self._body.get(name, False)
        if not isinstance(value, bool):
            raise self._error(name, "true or false")
        return value

    def whole_number(self, name: str, least: int, most: int) -> int:
        value = self._body[name]
        if type(value) is not int or not least <= value <= most:
            raise self._error(name, f"a whole number from {least} to {most}")
        return value

    def request(self, *, logprobs: bool, prompts: tuple[str, ...] = ("",)) -> CompletionRequest:
        """The request with the fields that both routes have."""
        n = self.whole_number("n", 1, self._max_choices) if "n" in self._body else 1
        if n * len(prompts) > self._max_choices:
            raise RequestError(
                400,
                f"{len(prompts)} prompts with n={n} are too many: {self._max_choices} completions "
                "are the most of a request, so send several",
                param="n",
            )
        stream = self.flag("stream")
        settings = self._settings(n)
        seeded = "seed" in self._body
        return CompletionRequest(
            model=self._model,
            prompts=prompts,
            call=None,
            settings=settings,
            n=n,
            seed=self.whole_number("seed", -_SEED_BOUND, _SEED_BOUND - 1) if seeded else None,
            logprobs=logprobs,
            stream=stream,
            include_usage=self._include_usage(stream),
        )

    def _settings(self, n: int) -> CallSettings:
        """The model's own sampling settings, changed by those of the request."""
        changes: dict[str, Any] = {}
        greedy = False
        if "temperature" in self._body:
            temperature = self._number("temperature")
            greedy = temperature == 0
            if not greedy and not MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE:
                allowed = f"0, for the most likely completion, or {MIN_TEMPERATURE:g} to"
                raise self._error("temperature", f"{allowed} {MAX_TEMPERATURE:g}")
            if not greedy:
                changes["temperature"] = temperature
        if "top_p" in self._body:
            changes["top_p"] = self._number("top_p")
        if "top_k" in self._body:
            changes["top_k"] = self.whole_number("top_k", 0, 2**31 - 1)
        if "stop" in self._body:
            changes["stop"] = self._stop()
        limits = {
            self.whole_number(name, 1, self._model.context - 1)
            for name in ("max_tokens", "max_completion_tokens")
            if name in self._body
        }
        if len(limits) > 1:
            raise self._error("max_tokens", "the same as max_completion_tokens, or left out")
        if limits:
            changes["max_new_tokens"] = limits.pop()
        try:
            sampling = replace(self._model.sampling, **changes)
        except LlmzooError as error:
            raise RequestError(400, str(error)) from None
        return CallSettings(group_size=1 if greedy else n, greedy=greedy, sampling=sampling)

    def _number(self, name: str) -> float:
        value = self._body[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(name, "a number")
        try:
            return float(value)
        except OverflowError:
            raise self._error(name, "a number of usual size") from None

    def _stop(self) -> tuple[str, ...]:
        value = self._body["stop"]
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._error("stop", "a text, or a list of texts")
        return tuple(texts)

    def _include_usage(self, stream: bool) -> bool:
        options = self._body.get("stream_options", {})
        known = {"include_usage", "include_obfuscation"}
        if not isinstance(options, dict) or not set(options) <= known:
            raise self._error("stream_options", 'an object such as {"include_usage": true}')
        if options and not stream:
            raise self._error("stream_options", "left out without stream")
        if not isinstance(options.get("include_usage", False), bool | None):
            raise self._error("stream_options", "an object of true and false")
        return bool(options.get("include_usage"))

    def _error(self, name: str, wanted: str) -> RequestError:
        return RequestError(
            400, f"{name} must be {wanted}; got {str(self._body.get(name))[:80]!r}", param=name
        )


def _parse_tools(tools: Any) -> tuple[Mapping[str, Any], ...]:
    schemas = to_json_data(tools, "tools")
    if not isinstance(schemas, list) or not all(isinstance(schema, dict) for schema in schemas):
        raise RequestError(
            400, f"tools is a list of JSON schemas, got {tools!r:.80}", param="tools"
        )
    return tuple(schemas)


def _parse_prompts(prompt: Any) -> tuple[str, ...]:
    texts = [prompt] if isinstance(prompt, str) else prompt
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise RequestError(
            400,
            f"prompt is a text or a list of texts, not of tokens; got {prompt!r:.80}",
            param="prompt",
        )
    return tuple(PlainPrompt(text) for text in texts)
