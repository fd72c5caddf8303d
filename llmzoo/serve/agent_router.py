"""The policies of several agents as one, for programs and clients elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.errors import ConfigError
from llmzoo.policies import SCRIPTED
from llmzoo.policies.base import Policy, PolicyRequest, RoutedPolicy
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, LoadSettings, Sampling, SamplingPolicy
from llmzoo.runs.evaluation_policies import load_agent_policies, policy_names

_MAX_CACHED_SETTINGS = 64  # settings whose policies are kept


class AgentRouter(RoutedPolicy):
    """The policies of several agents as one. Each answers for its own agents."""

    def __init__(self, agent_policies: Mapping[str, Policy]):
        self.name = ", ".join(dict.fromkeys(policy.name for policy in agent_policies.values()))
        self.prompt_style: str | None = None
        self._policies = dict(agent_policies)
        self._by_sampling: dict[Sampling, AgentRouter] = {}

    def route(self, request: PolicyRequest) -> Policy:
        return self._policies[request.agent]

    def with_sampling(self, sampling: Sampling) -> AgentRouter:
        """The same policies (same weights) with these settings. All of them sample."""
        if sampling not in self._by_sampling:
            if len(self._by_sampling) == _MAX_CACHED_SETTINGS:
                self._by_sampling.clear()
            changed: dict[int, Policy] = {}
            for policy in self._policies.values():
                assert isinstance(policy, SamplingPolicy)
                changed.setdefault(id(policy), policy.with_sampling_for_all(sampling))
            self._by_sampling[sampling] = AgentRouter(
                {agent: changed[id(policy)] for agent, policy in self._policies.items()}
            )
        return self._by_sampling[sampling]


def load_models_for_agents(
    agents: Sequence[str],
    policy: str,
    agent_args: Mapping[str, Mapping[str, Any]],
    settings: LoadSettings = DEFAULT_LOAD_SETTINGS,
    *,
    seed: int = 0,
) -> dict[str, Policy]:
    """The policy of every agent, as :func:`llmzoo.runs.evaluation_policies.load_agent_policies` loads them.

    Raises :class:`ConfigError` for a scripted player, which would read the environment.
    """
    for agent, name in policy_names(agents, policy, agent_args).items():
        if name in SCRIPTED:
            raise ConfigError(
                f"{name!r} cannot answer for {agent!r}: it looks at the environment (or is a "
                "person), and a program elsewhere has none. Name a model"
            )
    return load_agent_policies(agents, policy, agent_args, settings, seed=seed)
