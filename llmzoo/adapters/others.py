"""Who plays the agents that are not trained: named policies, functions, or policy objects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies.base import OnComplete, Policy, PolicyRequest, ScriptedPolicy
from llmzoo.records import Completion
from llmzoo.runs.named_policies import load_policy_for_agents

AnswerFunction = Callable[[str], str]  # from an observation to an answer
Other = str | AnswerFunction | Policy
Others = Other | Mapping[str, Other] | None


@runtime_checkable
class _HasRespond(Protocol):
    respond: Callable[..., object]


def fill_other_agents(others: Others, agents: Sequence[str]) -> dict[str, Policy]:
    """A policy for each of ``agents``.

    ``others``: one player for all of them, or a mapping with one for each. A name is one that
    ``llmzoo eval --policy`` accepts (``expert``, ``noisy_expert``, ``random``, ``human``, ``tiny``, a
    folder or hub id of a model, a run folder, ``openai:MODEL@URL``). A function
    maps the agent's observation to its answer. An object with ``respond`` is a policy. Equal names
    share one policy, so requests to it are batched. If there are no other agents, ``others`` may be
    omitted, and a single player is ignored.

    Raises :class:`ConfigError` for an agent without a player and for any other kind of player.
    """
    if not agents:
        given = others if isinstance(others, Mapping) else {}
        _check_agents(given, agents)
        return {}
    if others is None:
        raise ConfigError(
            f"nobody plays {', '.join(agents)}: give others, such as others='expert' or "
            f"others={{'{agents[0]}': 'tiny'}}"
        )
    if not isinstance(others, Mapping):
        others = dict.fromkeys(agents, others)
    _check_agents(others, agents)
    missing = [agent for agent in agents if agent not in others]
    if missing:
        raise ConfigError(f"nobody plays {', '.join(missing)}: name them in others")
    filled: dict[str, Policy] = {}
    by_name: dict[str, dict[str, Policy]] = {}
    for agent in agents:
        other = others[agent]
        if isinstance(other, str):
            if other not in by_name:
                named = [a for a in agents if others[a] == other]
                by_name[other] = load_policy_for_agents(other, named)
            filled[agent] = by_name[other][agent]
        elif isinstance(other, _HasRespond):
            filled[agent] = other
        elif callable(other):
            filled[agent] = _policy_from_function(other)
        else:
            raise ConfigError(
                f"{agent} is played by {other!r:.60}: give a name, a function or a policy"
            )
    return filled


def _check_agents(others: Mapping[str, Other], agents: Sequence[str]) -> None:
    for agent in others:
        if agent not in agents:
            raise UnknownNameError("agent in others", agent, agents)


def _policy_from_function(answer: AnswerFunction) -> ScriptedPolicy:
    return ScriptedPolicy(lambda request: answer(request.observation), "function")


class LockedPolicy:
    """A policy that several threads share, one call at a time.

    Each request carries its own randomness, so answers do not depend on the order of calls.
    """

    def __init__(self, policy: Policy, lock: threading.Lock):
        self.name, self.prompt_style = policy.name, policy.prompt_style
        self._policy, self._lock = policy, lock

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        with self._lock:
            return self._policy.respond(
                requests, group_size, greedy=greedy, on_complete=on_complete
            )


def with_shared_lock(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """These policies for several threads. They share one lock, since models may share weights."""
    lock = threading.Lock()
    return {agent: LockedPolicy(policy, lock) for agent, policy in policies.items()}
