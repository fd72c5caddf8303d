"""Formats texts as a model's prompts, and finds the answer in its output.

An observation may contain what other agents wrote. It reaches the model as plain text: only the
chat template writes control tokens, which begin and end the turns of a conversation.

A prompt of any length is formatted. One that is too long for the model's context gets an empty
completion in :meth:`llmzoo.policies.transformers.TransformersPolicy.respond_jointly`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies.histories import Histories, Ids
from llmzoo.policies.settings import Chat
from llmzoo.policies.template_bounds import render_bounded
from llmzoo.spaces import Conversation, PlainPrompt
from llmzoo.thoughts import THOUGHT_MARKS, ThoughtMarks, marks_ending_with, strip_thoughts

_PROBE = "probe"
_SEPARATORS = range(0xE000, 0xF900)  # private-use characters


class PromptFormatter:
    """The prompts of one agent with the settings ``chat``, for the model called ``name``.

    Raises :class:`ConfigError` for settings that the tokenizer's chat template does not use.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, chat: Chat, name: str):
        self.tokenizer = tokenizer
        self.chat = chat
        self._name = name
        template = None if tokenizer.chat_template is None else tokenizer.get_chat_template()
        self._template: str | None = template
        self._arguments = dict(chat.chat_template_args or {})
        self._check_settings()
        around, after = self._template_text()
        added = [
            (token.content, number) for number, token in tokenizer.added_tokens_decoder.items()
        ]
        self.special = {
            *(n for n, token in tokenizer.added_tokens_decoder.items() if token.special),
            *tokenizer.all_special_ids,
        }
        self.marks = _find_marks(chat.thought_end, [text for text, _ in added], template or "")
        marks = (self.marks.opens, self.marks.closes) if self.marks else ()
        control = [
            text
            for text, number in added
            if number in self.special or text in marks or (text in around and not text.isspace())
        ]
        self._control = _control_pattern(control)
        self._turn_control = _control_pattern([text for text in control if text not in marks])
        # special tokens that are parts of marks; decoding would drop them
        self._mark_token_ids: set[int] = set()
        if self.marks is not None:
            both = (self.marks.opens or "") + self.marks.closes
            self._mark_token_ids = {n for text, n in added if n in self.special and text in both}
        # if both marks are tokens, an opening one opens a thought wherever it occurs
        numbers = dict(added)
        self._mark_ids = tuple(numbers[mark] for mark in marks if mark in numbers)
        # DeepSeek-R1 and others: the prompt ends with the opening mark
        self.opened = self.marks is not None and _is_open(after, self.marks)

    def encode(
        self, text: str, histories: Histories | None = None, agent: str | None = None
    ) -> Ids:
        """The token ids of a prompt, through the chat template if there is one.

        In a conversation, the answers of ``agent`` in ``histories`` are the tokens that were sampled.
        """
        if not isinstance(text, Conversation):
            if self._template is None or isinstance(text, PlainPrompt):
                return tuple(self._encode_with_added_tokens(_split_at_control(self._control, text)))
            return self.encode_messages([{"role": "user", "content": text}], generation_prompt=True)
        if histories is not None and (known := histories.sampled_completions(agent, text.messages)):
            ids = self._encode_continuation(text, known)
            if ids is not None:
                return ids
            histories.record_break("is not repeated by the chat template as it was sampled")
        return self.encode_messages(text.messages, generation_prompt=True, tools=text.tools)

    def encode_messages(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        generation_prompt: bool,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Ids:
        """The token ids of messages, after the system prompt unless they start with their own.

        A model without a chat template reads their contents.
        """
        copies = [dict(message) for message in messages]
        separator = _unused_character(copies)
        text = self._render_split(copies, separator, generation_prompt, tools)
        if self._template is None:
            return tuple(self._encode_with_added_tokens(text.split(separator)))
        return tuple(self._encode_pieces(text.split(separator)))

    def _encode_continuation(
        self, text: Conversation, known: Mapping[int, tuple[Ids, Ids]]
    ) -> Ids | None:
        """The token ids of a conversation in which the messages with these indices are sampled ones.

        None if what is before one of them is not the prompt that it was sampled after.
        """
        messages = [dict(message) for message in text.messages]
        separator = _unused_character(messages)
        mark = _unused_character(messages, excluded=separator)
        for index in known:
            messages[index]["content"] = mark
        rendered = self._render_split(messages, separator, True, text.tools)
        first, *rest = rendered.split(mark)
        if len(rest) != len(known):
            return None
        ids = [
            *(self._encode_with_added_tokens if self._template is None else self._encode_pieces)(
                first.split(separator)
            )
        ]
        for part, (prompt, answer) in zip(rest, known.values(), strict=True):
            if tuple(ids) != prompt:
                return None
            after = self._encode_pieces(["", *part.split(separator)])
            ended = after[:1] == [answer[-1]]  # the end of the turn was sampled
            ids += [*answer, *after[ended:]]
        return tuple(ids)

    def _render_split(
        self,
        messages: list[dict[str, Any]],
        separator: str,
        generation_prompt: bool,
        tools: Sequence[Mapping[str, Any]],
    ) -> str:
        """The text of messages, which are changed, with ``separator`` inside of control tokens."""
        if tools and "tools" not in (self._template or ""):
            messages.insert(0, {"role": "system", "content": json.dumps(list(tools))})
            tools = ()
        if self.chat.system is not None and messages[0]["role"] != "system":
            messages.insert(0, {"role": "system", "content": self.chat.system})
        for message in messages:
            is_completion = message["role"] == "assistant"  # the model's, thoughts included
            control = self._turn_control if is_completion else self._control
            message["content"] = separator.join(_split_at_control(control, message["content"]))
        if self._template is None:
            return _join_contents(messages)
        return self._render(messages, generation_prompt, tools)

    def encode_completion(self, text: str) -> Ids:
        """The token ids of a text as the model's answer, without the end-of-sequence token.

        The only control tokens are those around thoughts. If the prompt has opened a thought that
        the text does not close, it is closed first.
        """
        ids = self._encode_pieces(_split_at_control(self._turn_control, text))
        if self.opened and self.marks is not None and self.marks.closes not in text:
            ids = self._tokenize(f"{self.marks.closes}\n\n") + ids
        return tuple(ids)

    def answer(self, ids: Sequence[int], *, plain: bool = False) -> str | None:
        """The answer in the sampled ``ids``, after the thoughts; None if a thought is still open.

        ``plain``: they continue a text, without turns and thoughts.
        """
        if self.marks is None or plain:
            return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))
        kept = [n for n in ids if n in self._mark_token_ids or n not in self.special]
        text = str(self.tokenizer.decode(kept, skip_special_tokens=False))
        if len(self._mark_ids) == 2:
            opens, closes = (_last_index(ids, mark) for mark in self._mark_ids)
            if opens > closes:
                return None
        return strip_thoughts(text, [self.marks], starts_in_thought=self.opened)

    def _tokenize(self, text: str, *, special: bool = False) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=special)["input_ids"])

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """The concatenated token ids of pieces, each tokenised on its own."""
        ids = self._tokenize(pieces[0])
        line = self._tokenize("\n") if len(pieces) > 1 else []
        for piece in pieces[1:]:
            # some tokenizers put a space before a text, but not after a line break
            after_line = self._tokenize("\n" + piece)
            repeated = after_line[: len(line)] == line
            ids += after_line[len(line) :] if repeated else self._tokenize(piece)
        return ids

    def _encode_with_added_tokens(self, pieces: Sequence[str]) -> list[int]:
        """Like ``_encode_pieces``, with the tokens that the tokenizer adds around a text."""
        whole = self._tokenize("".join(pieces[:1]), special=True)
        if len(pieces) == 1:
            return whole
        first = self._tokenize(pieces[0])
        at = next(n for n in range(len(whole)) if whole[n : n + len(first)] == first)
        return [*whole[:at], *self._encode_pieces(pieces), *whole[at + len(first) :]]

    def _render(
        self,
        messages: Sequence[Mapping[str, Any]],
        generation_prompt: bool,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        def render() -> str:
            prompt = self.tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
                tokenize=False,
                add_generation_prompt=generation_prompt,
                **self._arguments,
            )
            return str(prompt)

        return render_bounded(render, self._name)

    def _template_text(self) -> tuple[str, str]:
        """The template's own text around the texts of every role, and after a prompt."""
        if self._template is None:
            return "", ""
        messages = [{"role": "user", "content": _PROBE}]
        system = self.chat.system
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        try:
            text = self._render(messages, True)
        except TemplateError as error:
            raise ConfigError(f"the chat template of {self._name} refuses: {error}") from error
        if system is not None and system.strip() not in text:
            raise ConfigError(f"the chat template of {self._name} leaves out the system prompt")
        around = [text.replace(system or "", "")]
        for roles in (("system", "user"), ("user", "assistant", "user"), ("user", "tool")):
            with suppress(TemplateError):  # some know no system prompt, or no tools
                probes = [{"role": role, "content": _PROBE} for role in roles]
                around.append(self._render(probes, False))
        return "\0".join(around), text.rpartition(_PROBE)[2]

    def _check_settings(self) -> None:
        if self._template is None:
            given = {"system": self.chat.system, "chat_template_args": self._arguments}
            for setting, value in given.items():
                if value:
                    raise ConfigError(
                        f"{self._name} has no chat template: {setting} would have no effect"
                    )
            return
        ours = inspect.signature(self.tokenizer.apply_chat_template).parameters
        for argument in self._arguments:
            if argument in ours or argument == "messages":
                raise ConfigError(f"chat_template_args: {argument!r} is not for you to set")
            if not re.search(rf"\b{re.escape(argument)}\b", self._template):
                known = re.findall(r"\b\w*(?:think|reason)\w*\b", self._template)
                raise UnknownNameError(
                    f"argument of the chat template of {self._name}", argument, sorted(set(known))
                )


def _unused_character(messages: Sequence[Mapping[str, Any]], excluded: str = "") -> str:
    """A character that no message holds."""
    everything = excluded.join(message["content"] for message in messages) + excluded
    return next(chr(n) for n in _SEPARATORS if chr(n) not in everything)


def _join_contents(messages: Sequence[Mapping[str, Any]]) -> str:
    """Messages as paragraphs. An answer follows its prompt directly, as it was sampled."""
    text = ""
    for number, message in enumerate(messages):
        calls = [json.dumps(call["function"]) for call in message.get("tool_calls", ())]
        answers = message["role"] == "assistant" and messages[number - 1]["role"] != "assistant"
        text += "" if number == 0 or answers else "\n\n"
        text += "\n".join([message["content"], *calls])
    return text


def _find_marks(
    thought_end: str | None, added: Sequence[str], template: str
) -> ThoughtMarks | None:
    """The marks of a thought: from the setting, the vocabulary or the chat template; None: none."""
    if thought_end == "none":
        return None
    if thought_end is not None:
        return marks_ending_with(thought_end)
    known = [marks for marks in THOUGHT_MARKS if marks.closes in added]
    known += [marks for marks in THOUGHT_MARKS if marks.closes in template]
    return known[0] if known else None


def _last_index(ids: Sequence[int], number: int) -> int:
    """The last index of ``number`` in ``ids``; -1 if it does not occur."""
    return max((index for index, n in enumerate(ids) if n == number), default=-1)


def _is_open(text: str, marks: ThoughtMarks) -> bool:
    """Whether a thought is open at the end of the template's text."""
    return marks.opens is None or text.rfind(marks.opens) > text.rfind(marks.closes)


def _control_pattern(texts: Sequence[str]) -> re.Pattern[str]:
    # a single character cannot be split
    longer = [re.escape(text) for text in texts if len(text) > 1]
    return re.compile("|".join(longer) or r"(?!)")


def _split_at_control(control: re.Pattern[str], text: str) -> list[str]:
    """Split a text so that no piece holds a control token: after the first character of each."""
    pieces = []
    while (match := control.search(text)) is not None:
        pieces.append(text[: match.start() + 1])
        text = text[match.start() + 1 :]
    return [*pieces, text]
