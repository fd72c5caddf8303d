"""Policies by name: some for single agents, and one for all other agents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError
from llmzoo.names import check_agent_keys, value_for_agent
from llmzoo.policies import SCRIPTED
from llmzoo.policies.base import Policy
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, LoadSettings, Sampling, SamplingPolicy
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.runs.policy_plans import AgentConfig

_PROMPT_OPTIONS = ("system", "chat_template_args", "thought_end")
_LEARNING_OPTIONS = ("frozen", "learner", "learner_args", "learning_rate")


def policy_names(
    agents: Sequence[str], default: str, agent_args: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """The name of every agent's policy: its own ``policy`` in ``agent_args``, or ``default``.

    Raises :class:`llmzoo.errors.UnknownNameError` for an unknown agent, and :class:`ConfigError` for settings that only
    apply to learning.
    """
    check_agent_keys(agent_args, agents)
    for agent, settings in agent_args.items():
        learning = [name for name in settings if name in _LEARNING_OPTIONS]
        if learning:
            raise ConfigError(
                f"agent {agent!r} has the setting {learning[0]}, but no agent learns here: leave it out"
            )
    return {
        agent: value_for_agent(agent_args, agent, {}).get("policy") or default for agent in agents
    }


def load_agent_policies(
    agents: Sequence[str],
    default: str,
    agent_args: Mapping[str, Mapping[str, Any]],
    settings: LoadSettings = DEFAULT_LOAD_SETTINGS,
    *,
    seed: int = 0,
) -> dict[str, Policy]:
    """The policy of every agent (:func:`policy_names`).

    ``agent_args`` maps agents to fields of :class:`llmzoo.runs.policy_plans.AgentConfig`. Agents with the
    same policy name and prompt settings share a model. ``settings`` apply to all agents.
    """
    names = policy_names(agents, default, agent_args)
    mixed = len(set(names.values())) > 1
    groups: dict[str, list[str]] = {}
    for agent, name in names.items():
        own = {
            n: v for n, v in value_for_agent(agent_args, agent, {}).items() if n in _PROMPT_OPTIONS
        }
        common = {} if mixed and name in SCRIPTED else settings.chat
        groups.setdefault(json.dumps([name, {**common, **own}]), []).append(agent)
    loaded: dict[str, Policy] = {}
    for key, members in groups.items():
        name, prompts = json.loads(key)
        # settings for all agents apply to those with a model
        runs_here = not (name in SCRIPTED or name.startswith(ENDPOINT_PREFIX))
        device = settings.device if runs_here or not mixed else None
        own_settings = replace(settings, chat=prompts, device=device)
        loaded |= load_policy_for_agents(name, members, own_settings, seed=seed)
    return {
        agent: _with_agent_sampling(loaded[agent], agent, value_for_agent(agent_args, agent, {}))
        for agent in agents
    }


def format_policy_names(names: Mapping[str, str]) -> str:
    """The policies' name in evaluations: one name, or ``AGENT: NAME`` for each agent.

    ``names``: from :func:`policy_names`.
    """
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return ", ".join(f"{agent}: {name}" for agent, name in names.items())


def _with_agent_sampling(policy: Policy, agent: str, settings: Mapping[str, Any]) -> Policy:
    """The policy with an agent's own sampling settings."""
    own = [name for name in settings if name not in ("policy", *_PROMPT_OPTIONS)]
    if not own:
        return policy
    if not isinstance(policy, SamplingPolicy):
        raise ConfigError(f"agent {agent!r}: {policy.name} does not sample: leave out {own[0]}")
    try:
        config = AgentConfig(**settings)
        return policy.with_sampling_for_all(
            config.sampling(policy.sampling_for(agent) or Sampling())
        )
    except ValueError as error:
        raise ConfigError(f"agent {agent!r}: {error}") from None
