"""Calls of a program and the replies that it gets, in the shape of OpenAI's chat completions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.spaces import Conversation

ROLES = ("system", "developer", "user", "assistant", "tool")
_TOOL_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One request for an answer of ``agent``.

    ``messages``: dicts with ``role`` and ``content`` (text), as a chat template takes them. ``stop``:
    texts at which the answer ends. ``tools``: their JSON schemas.
    """

    agent: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    stop: tuple[str, ...] = ()

    @property
    def canonical(self) -> str:
        """A text that two equal calls share."""
        return json.dumps([self.agent, self.messages, self.tools, self.stop], sort_keys=True)

    def observation(self) -> Conversation:
        """The conversation as text. A single user message is that message; others are named by role."""
        messages = list(self.messages)
        if self.tools:
            messages.insert(0, {"role": "tools", "content": json.dumps(list(self.tools))})
        if len(messages) == 1 and messages[0]["role"] == "user":
            return Conversation(messages[0]["content"], self.messages, self.tools)
        text = "\n\n".join(f"[{message['role']}]\n{_message_text(message)}" for message in messages)
        return Conversation(text, self.messages, self.tools)


def _message_text(message: Mapping[str, Any]) -> str:
    calls = [
        f"<tool_call>{json.dumps(c['function'])}</tool_call>" for c in message.get("tool_calls", ())
    ]
    return "\n".join([*([message["content"]] if message["content"] else []), *calls])


def find_agent(name: Any, agents: Sequence[str]) -> str:
    """The agent of a name, with or without its number: ``writer`` for ``writer_0``, if there is only one.

    Raises :class:`UnknownNameError`.
    """
    if name in agents:
        return str(name)
    alike = [agent for agent in agents if agent.rpartition("_")[0] == name]
    if len(alike) != 1:
        raise UnknownNameError("agent", str(name), agents)
    return alike[0]


def to_json_data(value: Any, name: str) -> Any:
    """A copy of a value as JSON has it. Raises :class:`ConfigError` for one that JSON has not."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name} must be what JSON can hold: {error!s:.200}") from None


def validate_messages(messages: Any) -> tuple[Mapping[str, Any], ...]:
    """Messages as plain data of their own: mappings or the replies themselves, with texts as contents.

    Raises :class:`ConfigError` for anything that is no conversation in text.
    """
    if isinstance(messages, str) or not isinstance(messages, Sequence) or not messages:
        raise ConfigError(f"messages is a list of messages, got {messages!r:.80}")
    return tuple(_message(message) for message in messages)


def _message(message: Any) -> Mapping[str, Any]:
    data = to_json_data(
        message.model_dump() if isinstance(message, Message) else message, "a message"
    )
    if not isinstance(data, dict) or data.get("role") not in ROLES:
        raise ConfigError(f"a message has a role ({', '.join(ROLES)}), got {message!r:.80}")
    content = data.get("content") or ""
    if isinstance(content, list):
        texts: list[Any] = [
            part.get("text") if isinstance(part, dict) else None for part in content
        ]
        content = "".join(texts) if all(isinstance(text, str) for text in texts) else None
    if not isinstance(content, str):
        raise ConfigError(f"a message's content is text, got {message!r:.80}")
    calls = data.get("tool_calls") or []
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        raise ConfigError(f"tool_calls is a list of calls of functions, got {calls!r:.80}")
    rest = {k: v for k, v in data.items() if v is not None and k not in ("role", "content")}
    return {"role": data["role"], "content": content, **rest}


def _is_call(call: Any) -> bool:
    return isinstance(call, dict) and isinstance(call.get("function"), dict)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    name: str
    arguments: str  # JSON, as the model wrote it


@dataclass(frozen=True, slots=True)
class ChatToolCall:
    id: str
    function: FunctionCall
    type: str = "function"


@dataclass(frozen=True, slots=True)
class Message:
    content: str | None
    tool_calls: tuple[ChatToolCall, ...] | None = None
    role: str = "assistant"

    def model_dump(self) -> dict[str, Any]:
        """The message as plain data, for the next call."""
        plain = {k: v for k, v in asdict(self).items() if v is not None}
        return {**plain, "content": self.content or ""}


@dataclass(frozen=True, slots=True)
class Choice:
    index: int
    message: Message
    finish_reason: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(ChatToolCall):
    """A call in a stream, with its place among those of the message."""

    index: int = 0


@dataclass(frozen=True, slots=True)
class CompletionUsage:
    """Agents' tokens are counted by llmzoo, not here."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    content: str | None
    tool_calls: tuple[ToolCallDelta, ...] | None = None
    role: str = "assistant"


@dataclass(frozen=True, slots=True)
class ChunkChoice:
    index: int
    delta: Delta
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class ChatCompletionChunk:
    id: str
    model: str
    choices: tuple[ChunkChoice, ...]
    object: str = "chat.completion.chunk"


@dataclass(frozen=True, slots=True)
class ChatCompletion:
    """A reply. ``model`` is the agent that wrote it."""

    id: str
    model: str
    choices: tuple[Choice, ...]
    usage: CompletionUsage = CompletionUsage()
    object: str = "chat.completion"

    def chunks(self) -> Iterator[ChatCompletionChunk]:
        """The same as a stream of one piece for each choice."""
        for choice in self.choices:
            calls = choice.message.tool_calls
            numbered = tuple(
                ToolCallDelta(call.id, call.function, index=number)
                for number, call in enumerate(calls or ())
            )
            delta = Delta(choice.message.content, numbered or None)
            part = ChunkChoice(choice.index, delta, choice.finish_reason)
            yield ChatCompletionChunk(self.id, self.model, (part,))


def make_completion(call: ProgramCall, texts: Sequence[str], number: int) -> ChatCompletion:
    """The reply to a call: one choice for each text."""
    choices = tuple(make_choice(call, index, text) for index, text in enumerate(texts))
    return ChatCompletion(f"chatcmpl-{number}", call.agent, choices)


def make_choice(call: ProgramCall, index: int, text: str) -> Choice:
    """A choice with a text, up to the call's stops, or with the calls of tools that the text makes."""
    ends = [at for stop in call.stop if (at := text.find(stop)) >= 0]
    text = text[: min(ends)] if ends else text
    calls = _tool_calls(text, index) if call.tools else ()
    if calls:
        rest = _TOOL_CALL.sub("", text).strip() or None
        return Choice(index, Message(rest, calls), "tool_calls")
    return Choice(index, Message(text), "stop")


def _tool_calls(text: str, index: int) -> tuple[ChatToolCall, ...]:
    """The calls that a text makes as ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``.

    What is no such object is left in the text.
    """
    calls: list[ChatToolCall] = []
    for match in _TOOL_CALL.finditer(text):
        try:
            parsed = json.loads(match[1])
        except (ValueError, RecursionError):
            return ()
        if not isinstance(parsed, dict) or not isinstance(parsed.get("name"), str):
            return ()
        arguments = parsed.get("arguments", {})
        arguments_text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append(
            ChatToolCall(f"call_{index}_{len(calls)}", FunctionCall(parsed["name"], arguments_text))
        )
    return tuple(calls)
