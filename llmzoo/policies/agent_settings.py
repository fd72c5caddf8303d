"""The settings that decide which policy plays each agent of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmzoo.policies.settings import Chat, Sampling

if TYPE_CHECKING:  # these import torch
    from llmzoo.models.compiling import Compile
    from llmzoo.models.precision import Precision

Arrangement = Mapping[str, str] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """Which policy plays each agent, and how it samples.

    policies: ``"shared"`` (one model for all agents), ``"separate"`` (a copy of the model for each agent),
        ``"lora"`` (one base with an adapter for each agent), the name of the only agent that learns, while
        ``others`` play the remaining agents, or a mapping from agents to names of models. A key of a mapping
        may be a pattern, such as ``worker_*``; an agent's own name comes before patterns.
    model: ``"tiny"``, ``"smollm2"``, a folder, a hub id, or the folder of an earlier run, in which case an
        agent starts from its newest checkpoint.
    sampling, chat: the defaults of all agents.
    agent_args: for an agent or a pattern, fields of :class:`llmzoo.runs.policy_plans.AgentConfig`. An agent with its own
        ``policy`` is not part of ``policies``: if it is a model, it has its own weights and learns them
        unless ``frozen``; scripted policies and endpoints never learn.
    model_args: for a name in ``policies``, fields of :class:`llmzoo.runs.policy_plans.ModelConfig`.
    precision, gradient_checkpointing, compile: of the policies that learn.
    lora_args: options of :meth:`TransformersPolicy.with_adapters
        <llmzoo.policies.transformers.TransformersPolicy.with_adapters>`.
    device: where the models run (:func:`llmzoo.models.devices.resolve_device`).
    trust_remote_code: run Python code that comes with a model.
    """

    policies: Arrangement = "shared"
    model: str
    others: str = "expert"
    sampling: Sampling
    chat: Chat = field(default_factory=Chat)
    agent_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    precision: Precision = "float32"
    gradient_checkpointing: bool = False
    compile: Compile = "off"
    lora_args: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    trust_remote_code: bool = False

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> AgentSettings:
        """The settings that ``dataclasses.asdict`` gave, after a way through JSON."""
        sampling = {**values["sampling"], "stop": tuple(values["sampling"]["stop"])}
        return AgentSettings(
            **{**values, "sampling": Sampling(**sampling), "chat": Chat(**values["chat"])}
        )
