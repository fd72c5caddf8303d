"""Settings of sampling and of prompts, and policies that have them.

:mod:`llmzoo.models.sampling` applies sampling settings to logits, and
:mod:`llmzoo.policies.prompts` applies prompt settings to texts.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from llmzoo.errors import ConfigError
from llmzoo.models.sampling_settings import Sampling

__all__ = ["DEFAULT_LOAD_SETTINGS", "Chat", "LoadSettings", "Sampling", "SamplingPolicy"]

SamplingPolicyT = TypeVar("SamplingPolicyT", bound="SamplingPolicy")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """How policies are loaded by name.

    ``sampling`` and ``chat``: fields of :class:`Sampling` and :class:`Chat` that override the defaults, or the
    settings of a run and of its agents. ``device``: where models run
    (:func:`llmzoo.models.devices.resolve_device`). ``trust_remote_code``: run Python code that comes with a
    model; a run's own setting is ignored.
    """

    sampling: Mapping[str, Any] = field(default_factory=dict)
    chat: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    trust_remote_code: bool = False


DEFAULT_LOAD_SETTINGS = LoadSettings()


class SamplingPolicy:
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

    def hash_weights(self) -> str | None:
        """A hash of the model's weights; None if they are not in this process."""
        return None

    def with_sampling_for_all(self: SamplingPolicyT, sampling: Sampling) -> SamplingPolicyT:
        """This policy (same weights, same noise) with these settings for every agent."""
        other = copy.copy(self)
        other.sampling, other.samplings = sampling, {}
        return other

    def with_max_temperature(self: SamplingPolicyT, temperature: float) -> SamplingPolicyT:
        """This policy (same weights, same noise) with no agent above this temperature."""
        other = copy.copy(self)
        other.sampling = self.sampling and _limit_temperature(self.sampling, temperature)
        other.samplings = {
            agent: _limit_temperature(own, temperature) for agent, own in self.samplings.items()
        }
        return other

    def sampling_for(self, agent: str) -> Sampling | None:
        return self.samplings.get(agent, self.sampling)

    def chat_for(self, agent: str) -> Chat:
        return self.chats.get(agent, self.chat)


def _limit_temperature(sampling: Sampling, temperature: float) -> Sampling:
    return replace(sampling, temperature=min(temperature, sampling.temperature))
