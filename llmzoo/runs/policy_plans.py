"""Plans which policy plays each agent, and checks the plan before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError
from llmzoo.fields import field_names, field_values
from llmzoo.names import (
    NAME_RULE,
    check_agent_keys,
    check_names,
    is_name,
    value_for_agent,
)
from llmzoo.policies import SCRIPTED, refuse_server
from llmzoo.policies.agent_settings import AgentSettings, Arrangement
from llmzoo.policies.settings import Chat, Sampling

SHARED = "policy"  # the name of the one policy for all agents
OTHERS = "(others)"  # the name of the policy of all agents that ``policies`` leaves out
_SAMPLING_OPTIONS = ("temperature", "top_p", "top_k", "max_new_tokens", "stop")
_CHAT_OPTIONS = ("system", "chat_template_args", "thought_end")
_KINDS: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((float, int), "a number"),
    Mapping: ((Mapping,), "a mapping of names to values"),
    Sequence: ((list, tuple), "a list of texts"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """Settings of one agent; None: the run's setting."""

    # the policy of this agent: a scripted policy, a model, openai:... or a run folder
    policy: str | None = None
    frozen: bool = False  # the model does not learn
    learner: str | None = None  # computes the credit of this agent's completions
    learner_args: Mapping[str, Any] | None = None  # its options, added to the run's
    learning_rate: float | None = None  # for this agent's own weights
    temperature: float | None = None  # sampling temperature
    top_p: float | None = None  # nucleus sampling threshold; 1 is off
    top_k: int | None = None  # number of most likely tokens to sample from; 0 is all
    max_new_tokens: int | None = None  # maximum tokens of a completion
    stop: Sequence[str] | None = None  # texts that end a completion and are removed from it
    system: str | None = None  # system prompt
    chat_template_args: Mapping[str, Any] | None = None  # added to the run's
    thought_end: str | None = None  # the text that ends a thought, or "none"

    def __post_init__(self) -> None:
        for name, value in self.explicit_settings().items():
            kinds, wanted = _allowed_values(name)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise ConfigError(f"{name} must be {wanted}, got {value!r}")
        if self.stop is not None and not all(isinstance(s, str) and s for s in self.stop):
            raise ConfigError(f"stop must be a list of non-empty texts, got {self.stop}")
        rate = self.learning_rate
        if rate is not None and not (rate > 0 and math.isfinite(rate)):
            raise ConfigError(f"learning_rate must be above 0, got {rate}")

    def explicit_settings(self) -> dict[str, Any]:
        """The settings that are not None."""
        return {name: value for name, value in field_values(self).items() if value is not None}

    def sampling(self, run_sampling: Sampling) -> Sampling:
        """The run's sampling settings, overridden by this agent's."""
        overrides = {
            name: value
            for name, value in self.explicit_settings().items()
            if name in _SAMPLING_OPTIONS
        }
        if "stop" in overrides:
            overrides["stop"] = tuple(overrides["stop"])
        return replace(run_sampling, **overrides)

    def chat(self, run_chat: Chat) -> Chat:
        """The run's prompt settings, overridden by this agent's."""
        overrides = {
            name: value for name, value in self.explicit_settings().items() if name in _CHAT_OPTIONS
        }
        if run_chat.chat_template_args and self.chat_template_args is not None:
            overrides["chat_template_args"] = {
                **run_chat.chat_template_args,
                **self.chat_template_args,
            }
        return replace(run_chat, **overrides)


@cache
def _allowed_values(name: str) -> tuple[tuple[type, ...], str]:
    """The types of a setting of :class:`AgentConfig`, and their name in errors."""
    hint = get_type_hints(AgentConfig)[name]
    (kind,) = [part for part in get_args(hint) or (hint,) if part is not NoneType]
    return _KINDS[get_origin(kind) or kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Settings of a model that ``policies`` names."""

    model: str | None = None  # tiny, a folder, a hub id or a run folder; None: the run's model
    form: Literal["full", "lora"] = "full"  # all weights, or an adapter on a shared base

    def __post_init__(self) -> None:
        if self.model is not None and not isinstance(self.model, str):
            raise ConfigError(f"model must be a name, got {self.model!r}")
        if self.form not in ("full", "lora"):
            raise ConfigError(f"form must be full or lora, got {self.form!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlan:
    """The policy of one agent.

    ``source``: a scripted policy, an endpoint, a model or a run folder. Agents with the
    same ``name`` share a policy, which checkpoints save under this name if it learns. ``adapter``:
    the policy is an adapter on a base, which all such agents with the same ``base`` share. In a new run, this
    base is the ``source``.
    """

    agent: str
    name: str
    source: str
    learns: bool
    sampling: Sampling
    chat: Chat = field(default_factory=Chat)
    adapter: bool = False
    learning_rate: float | None = None
    base: str = ""


def plan_policies(agents: Sequence[str], settings: AgentSettings) -> dict[str, AgentPlan]:
    """The plan of every agent.

    Raises :class:`llmzoo.errors.UnknownNameError` for an unknown agent or setting, and :class:`ConfigError` for
    settings that exclude each other.
    """
    arrangement, agent_args = settings.policies, settings.agent_args
    check_agent_keys(agent_args, agents)
    configs = {
        agent: _parse_agent_config(agent, value_for_agent(agent_args, agent, {}))
        for agent in agents
    }
    names = _policy_names(agents, arrangement, configs)
    models = _model_configs(arrangement, names, settings.model_args)
    plans = {
        agent: _plan_agent(agent, config, names.get(agent), models, settings)
        for agent, config in configs.items()
    }
    for name in [plan.name for plan in plans.values() if plan.learns]:
        if not isinstance(name, str) or not is_name(name):
            raise ConfigError(
                f"{name!r} cannot name a folder of weights, because {NAME_RULE}: use policies='shared', or a "
                "mapping from agents to names"
            )
    for agent, config in configs.items():
        _check_effects(plans, agent, config, arrangement)
    for name in dict.fromkeys(names.values()):
        sharing = [a for a, plan in plans.items() if plan.name == name]
        frozen = [agent for agent in sharing if not plans[agent].learns]
        if frozen and len(frozen) < len(sharing):
            raise ConfigError(
                f"{', '.join(frozen)} cannot be frozen, because other agents train the same weights: use "
                "policies='separate' or 'lora'"
            )
    return plans


def _policy_names(
    agents: Sequence[str], arrangement: Arrangement, configs: Mapping[str, AgentConfig]
) -> dict[str, str]:
    """The name of each agent's model, except for agents with another kind of policy."""
    if isinstance(arrangement, str):
        if arrangement == "shared":
            return dict.fromkeys(agents, SHARED)
        if arrangement in ("separate", "lora"):
            return dict(zip(agents, agents, strict=True))
        if arrangement in agents:
            return {arrangement: arrangement}
        raise ConfigError(
            "policies must map agents to model names, or be 'lora', 'shared', 'separate' or one of "
            f"{', '.join(agents)}; got {arrangement!r}"
        )
    check_agent_keys(arrangement, agents)
    given: Mapping[str, str | None] = arrangement
    found = {agent: value_for_agent(given, agent, None) for agent in agents}
    names = {agent: name for agent, name in found.items() if name is not None}
    for agent, name in names.items():
        if name in agents and names.get(name) != name:
            raise ConfigError(
                f"policies: the model {name!r} has the name of an agent that it does not play: rename the model"
            )
        if configs[agent].policy is not None:
            raise ConfigError(
                f"agent {agent!r} has both a model in policies and a policy in agent_args: leave one out"
            )
    missing = [a for a in agents if a not in names and configs[a].policy is None]
    if missing:
        raise ConfigError(
            f"policies has no model for {', '.join(missing)}: name one, or set policy in agent_args"
        )
    return names


def _model_configs(
    arrangement: Arrangement,
    names: Mapping[str, str],
    model_args: Mapping[str, Mapping[str, Any]],
) -> dict[str, ModelConfig]:
    """The settings of each named model."""
    if isinstance(arrangement, str):
        if model_args:
            raise ConfigError("model_args need names of models: let policies map agents to names")
        form: Literal["full", "lora"] = "lora" if arrangement == "lora" else "full"
        return {name: ModelConfig(form=form) for name in names.values()}
    check_names("model in policies", model_args, sorted({*names.values()}))
    models = {}
    for name in names.values():
        settings = model_args.get(name, {})
        if not isinstance(settings, Mapping):
            raise ConfigError(
                f"model_args of {name!r} must be a mapping of settings, got {settings!r}"
            )
        check_names(f"setting of model {name!r}", settings, field_names(ModelConfig))
        try:
            models[name] = ModelConfig(**settings)
        except ConfigError as error:
            raise ConfigError(f"model {name!r}: {error}") from None
    return models


def policy_kind(source: str) -> str:
    """``"scripted"``, ``"endpoint"`` or ``"model"``. Raises :class:`ConfigError` for a server's address."""
    if source in SCRIPTED:
        return "scripted"
    refuse_server(source)
    return "endpoint" if source.startswith(ENDPOINT_PREFIX) else "model"


def _parse_agent_config(agent: str, values: Mapping[str, Any]) -> AgentConfig:
    if not isinstance(values, Mapping):
        raise ConfigError(f"agent_args of {agent!r} must be a mapping of settings, got {values!r}")
    check_names(f"setting of agent {agent!r}", values, field_names(AgentConfig))
    try:
        return AgentConfig(**values)
    except ConfigError as error:
        raise ConfigError(f"agent {agent!r}: {error}") from None


def _plan_agent(
    agent: str,
    config: AgentConfig,
    name: str | None,
    models: Mapping[str, ModelConfig],
    settings: AgentSettings,
) -> AgentPlan:
    try:
        sampling, chat = config.sampling(settings.sampling), config.chat(settings.chat)
    except ValueError as error:
        raise ConfigError(f"agent {agent!r}: {error}") from None
    adapter = False
    if config.policy is not None:
        name, source = agent, config.policy
    elif name is None:
        name, source = OTHERS, settings.others
    else:
        source, adapter = models[name].model or settings.model, models[name].form == "lora"
        if policy_kind(source) != "model":
            raise ConfigError(
                f"model={source!r} cannot learn: give a model, and let {source!r} play an agent through "
                "its setting 'policy', or through 'others'"
            )
    return AgentPlan(
        agent=agent,
        name=name,
        source=source,
        learns=policy_kind(source) == "model" and name != OTHERS and not config.frozen,
        sampling=sampling,
        chat=chat,
        adapter=adapter,
        learning_rate=config.learning_rate,
        base=source,
    )


def _check_effects(
    plans: Mapping[str, AgentPlan], agent: str, config: AgentConfig, arrangement: Arrangement
) -> None:
    """Reject settings that have no effect on the policy of an agent."""
    plan = plans[agent]
    for name in ("learner", "learner_args"):
        if name in config.explicit_settings() and not plan.learns:
            raise ConfigError(
                f"agent {agent!r} does not learn ({_reason(plan, config)}): leave out {name}"
            )
    if plan.learning_rate is not None and not plan.learns:
        raise ConfigError(
            f"agent {agent!r} does not learn ({_reason(plan, config)}): leave out learning_rate"
        )
    sharing = sum(other.name == plan.name for other in plans.values())
    if plan.learning_rate is not None and (plan.name == SHARED or sharing > 1):
        raise ConfigError(
            f"agent {agent!r} shares its weights, so it cannot have its own learning_rate: set the "
            "learner's, or use policies='separate' or 'lora'"
        )
    sampled = [name for name in config.explicit_settings() if name in _SAMPLING_OPTIONS]
    if sampled and policy_kind(plan.source) == "scripted":
        raise ConfigError(
            f"agent {agent!r} is played by {plan.source!r}, which does not sample: "
            f"leave out {', '.join(sampled)}"
        )
    prompt_options = [name for name in config.explicit_settings() if name in _CHAT_OPTIONS]
    if prompt_options and policy_kind(plan.source) == "scripted":
        raise ConfigError(
            f"agent {agent!r} is played by {plan.source!r}, which reads no prompts: "
            f"leave out {', '.join(prompt_options)}"
        )
    single_learner = arrangement in plans if isinstance(arrangement, str) else False
    if single_learner and plan.learns and agent != arrangement:
        raise ConfigError(
            f"policies={arrangement!r} means that no other agent learns: set frozen for {agent!r}, or "
            "use policies='separate'"
        )


def _reason(plan: AgentPlan, config: AgentConfig) -> str:
    if config.frozen:
        return "it is frozen"
    return f"{plan.source!r} plays it"
