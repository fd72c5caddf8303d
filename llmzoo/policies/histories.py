"""What a model has written in conversations, kept as the tokens that it sampled.

A text has several encodings. When a program sends a completion back as a part of the next prompt, the
model should read the tokens that it sampled, not those that a tokenizer would choose: then the next
prompt begins with this one and its completion, and an update reads the conversation once.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.spaces import Conversation

Ids = tuple[int, ...]
Messages = Sequence[Mapping[str, Any]]

_Prompt = tuple[str | None, bytes]  # an agent, and the key of a conversation


class Histories:
    """The last completions, by agent and conversation.

    ``broken`` counts completions that a program sent back changed, and those that the chat template
    changes, for example by leaving out a thought: their turn begins a new row. The first one raises a
    warning. ``size``: the number of completions that are remembered.
    """

    def __init__(self, size: int = 2**15) -> None:
        self.broken = 0
        self._size = size
        self._completions: OrderedDict[tuple[_Prompt, str], tuple[Ids, Ids]] = OrderedDict()
        self._counts: Counter[_Prompt] = Counter()  # of the completions of each prompt

    def remember(
        self, agent: str, conversation: Conversation, text: str, prompt: Ids, ids: Ids
    ) -> None:
        """Record that ``ids`` (decoded: ``text``) were sampled after ``prompt``, the ids of ``conversation``."""
        entry = (agent, _prefix_keys(conversation.messages)[-1]), text
        self._counts[entry[0]] += entry not in self._completions
        self._completions[entry] = prompt, ids
        self._completions.move_to_end(entry)
        if len(self._completions) > self._size:
            (oldest, _), _ = self._completions.popitem(last=False)
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]

    def sampled_completions(
        self, agent: str | None, messages: Messages
    ) -> dict[int, tuple[Ids, Ids]]:
        """By index in ``messages``: the prompt before each completion of ``agent``, and its tokens."""
        known: dict[int, tuple[Ids, Ids]] = {}
        if not self._completions:
            return known
        for index, (message, key) in enumerate(zip(messages, _prefix_keys(messages), strict=False)):
            if message["role"] != "assistant" or (agent, key) not in self._counts:
                continue  # others are examples, or another agent's
            completion = self._completions.get(((agent, key), message["content"]))
            if completion is None:
                self.record_break(f"is not what was sampled: {message['content']!r:.80}")
            else:
                known[index] = completion
        return known

    def record_break(self, why: str) -> None:
        if not self.broken:
            warnings.warn(
                f"an answer in a conversation {why}. It is read as the text that it is now, and the "
                "update reads that turn as a row of its own",
                stacklevel=2,
            )
        self.broken += 1


def _prefix_keys(messages: Messages) -> list[bytes]:
    """A key of each beginning of a conversation, from that without a message to the whole."""
    digest = hashlib.blake2b(digest_size=16)
    keys = [digest.digest()]
    for message in messages:
        encoded = json.dumps(message, sort_keys=True)
        digest.update(encoded.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys
