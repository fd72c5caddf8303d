"""Settings of sampling and of prompts, and policies that have them.

:mod:`llmzoo.policies.sampling` applies sampling settings to logits, and
:mod:`llmzoo.policies.prompts` applies prompt settings to texts.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from llmzoo.errors import ConfigError

SampledT = TypeVar("SampledT", bound="Sampled")

# below, sampling is greedy up to rounding, and logits / temperature can overflow float32; above, it is
# uniform
COLDEST, HOTTEST = 1e-4, 100.0
SMALLEST_TOP_P = 1e-6  # less rounds to 0 in float32, and no token would be left
MOST_TOKENS = 2**20
MOST_STOPS, LONGEST_STOP = 64, 1000  # number of strings, characters of each


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling settings of an agent.

    ``top_k=0`` and ``top_p=1.0`` switch these filters off. An answer ends with the end-of-sequence
    token, with one of the ``stop`` strings (which its text leaves out), or after ``max_new_tokens``
    (it is then marked as truncated).

    Raises :class:`ConfigError` for settings out of bounds: ``temperature`` is 1e-4 to 100, ``top_p`` at
    least 1e-6, ``max_new_tokens`` at most 2**20, and ``stop`` at most 64 strings of 1 to 1000
    characters.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int = 256
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not COLDEST <= self.temperature <= HOTTEST:  # NaN too
            raise ConfigError(
                f"temperature is {COLDEST:g} to {HOTTEST:g}, got {self.temperature:g}; for the most "
                "likely answer ask for greedy"
            )
        if not SMALLEST_TOP_P <= self.top_p <= 1:
            raise ConfigError(f"top_p must be in [{SMALLEST_TOP_P:g}, 1], got {self.top_p}")
        if not 0 <= self.top_k < 2**31:
            raise ConfigError(f"top_k must be at least 0 and below 2**31, got {self.top_k}")
        if not 1 <= self.max_new_tokens <= MOST_TOKENS:
            raise ConfigError(f"max_new_tokens is 1 to {MOST_TOKENS}, got {self.max_new_tokens}")
        if len(self.stop) > MOST_STOPS or not all(0 < len(s) <= LONGEST_STOP for s in self.stop):
            raise ConfigError(
                f"stop takes at most {MOST_STOPS} strings, each of 1 to {LONGEST_STOP} characters; "
                "an empty one would end every answer before it begins"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """How an agent's prompts are formatted for a chat model, and where its answers begin.

    ``system``: the system prompt. ``chat_template_args``: arguments of the chat template, such as
    ``{"enable_thinking": False}``. ``thought_end``: the text that ends a thought, such as
    ``"</think>"``; the answer follows it. None reads it from the model's tokenizer or chat
    template. ``"none"`` means that the model does not think, so its whole output is the answer.
    """

    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None

    def __post_init__(self) -> None:
        if self.thought_end == "":
            raise ConfigError("thought_end is a text that ends a thought, or 'none'; it is empty")


class Sampled:
    """A policy with sampling settings: a model, in this process or elsewhere.

    ``sampling``: for agents without their own settings; None if an endpoint decides.
    """

    sampling: Sampling | None
    samplings: Mapping[str, Sampling]  # for single agents
    chat: Chat = Chat()
    chats: Mapping[str, Chat] = MappingProxyType({})  # for single agents

    @property
    def context(self) -> int | None:
        """The maximum number of tokens of a prompt and its answer together; None if unknown."""
        return None

    def under(self: SampledT, sampling: Sampling) -> SampledT:
        """This policy (same weights, same noise) with these settings for every agent."""
        other = copy.copy(self)
        other.sampling, other.samplings = sampling, {}
        return other

    def cooled(self: SampledT, temperature: float) -> SampledT:
        """This policy (same weights, same noise) with no agent above this temperature."""
        other = copy.copy(self)
        other.sampling = self.sampling and _cool(self.sampling, temperature)
        other.samplings = {agent: _cool(own, temperature) for agent, own in self.samplings.items()}
        return other

    def sampling_of(self, agent: str) -> Sampling | None:
        return self.samplings.get(agent, self.sampling)

    def chat_of(self, agent: str) -> Chat:
        return self.chats.get(agent, self.chat)


def _cool(sampling: Sampling, temperature: float) -> Sampling:
    return replace(sampling, temperature=min(temperature, sampling.temperature))
