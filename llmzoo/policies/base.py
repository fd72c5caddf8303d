"""A policy: text in, text out, for a batch of agents at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any, Protocol, runtime_checkable

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError, NoSolutionError
from llmzoo.models.model_catalog import TINY
from llmzoo.models.noise import noise_key
from llmzoo.records import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """An agent that waits for a completion.

    ``env``: the environment in its current state, for scripted players that read more than the prompt.
    Models read only ``observation``. ``seed``: seeds the randomness of scripted players. ``noise``:
    identifies this request's sampling noise; the same number draws the same completions, whatever else
    is in the call. None: the policy numbers its requests itself. ``key``: overrides the key that
    :class:`NoiseKeys` would derive from ``noise``. ``cancelled``: once set, nobody waits for the
    completion, and the policy may leave it unfinished. ``on_growth``: a policy may pass it the token ids
    of the K completions so far, repeatedly while they grow, in the thread that samples.
    """

    agent: str
    observation: str
    env: AECEnv
    seed: int = 0
    noise: int | None = None
    key: int | None = None
    cancelled: Event | None = None
    on_growth: OnGrowth | None = None


OnGrowth = Callable[[list[list[int]]], None]  # the ids of each completion, which grow further
OnComplete = Callable[[int, list[Completion]], None]  # a request's index, and its completions


@runtime_checkable
class Policy(Protocol):
    """Answers requests. One model may play several agents.

    ``prompt_style``: the prompt form that it was trained on (``"terse"``); None if any form works.
    """

    name: str
    prompt_style: str | None

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        """``group_size`` completions for each request, in order.

        ``greedy``: the most likely completion instead of a sampled one; ``group_size`` must then be 1.
        Deterministic policies ignore it. ``on_complete``: a policy may pass it the completions of a request,
        once, as soon as they are there. Their episode then continues while others are still being sampled.
        """
        ...


class JointlySampled:
    """A policy that can answer in one call with others, which is faster."""

    @property
    def batch_key(self) -> Hashable:
        """Policies with the same key answer in one call of :meth:`respond_jointly`."""
        raise NotImplementedError

    @staticmethod
    def respond_jointly(
        policies: Sequence[Any],
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        """:meth:`Policy.respond` with a policy for each request; all have the same ``batch_key``."""
        raise NotImplementedError


def respond_to_each(
    policy: Policy,
    requests: Sequence[PolicyRequest],
    group_size: int = 1,
    *,
    greedy: bool = False,
    on_complete: OnComplete,
) -> list[list[Completion]]:
    """:meth:`Policy.respond`, which passes each request's completions to ``on_complete``, whether or not
    the policy does so by itself."""
    delivered: set[int] = set()

    def deliver(index: int, completions: list[Completion]) -> None:
        delivered.add(index)
        on_complete(index, completions)

    groups = policy.respond(requests, group_size, greedy=greedy, on_complete=deliver)
    for index, completions in enumerate(groups):
        if index not in delivered:
            deliver(index, completions)
    return groups


class RoutedPolicy:
    """A policy that passes each request on to one of several policies."""

    def route(self, request: PolicyRequest) -> Policy:
        """The policy that answers ``request``."""
        raise NotImplementedError

    def process_completions(
        self, policy: Policy, completions: list[Completion]
    ) -> list[Completion]:
        """Called with a request's completions, which ``policy`` gave."""
        return completions

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        completions: list[list[Completion]] = [[] for _ in requests]
        routes: dict[int, tuple[Policy, list[int]]] = {}
        for index, request in enumerate(requests):
            policy = self.route(request)
            routes.setdefault(id(policy), (policy, []))[1].append(index)
        for policy, indices in routes.values():
            on_routed_complete = partial(
                self._record_completions, policy, indices, completions, on_complete
            )
            part = [requests[index] for index in indices]
            respond_to_each(policy, part, group_size, greedy=greedy, on_complete=on_routed_complete)
        return completions

    def _record_completions(
        self,
        policy: Policy,
        indices: Sequence[int],
        completions: list[list[Completion]],
        on_complete: OnComplete | None,
        number: int,
        group: list[Completion],
    ) -> None:
        """Store the completions of the ``number``-th request that was routed to ``policy``."""
        index = indices[number]
        completions[index] = self.process_completions(policy, group)
        if on_complete is not None:
            on_complete(index, completions[index])


class ScriptedPolicy:
    """A policy that computes its actions with a function of the :class:`PolicyRequest`.

    If the function raises :class:`NoSolutionError`, :meth:`respond` returns an empty completion
    that is marked as refused.
    """

    def __init__(self, answer: Callable[[PolicyRequest], str], name: str = "scripted"):
        self.name = name
        self.prompt_style: str | None = None
        self.answer = answer

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        return [
            [self._completion(_with_sample_seed(request, i)) for i in range(group_size)]
            for request in requests
        ]

    def _completion(self, request: PolicyRequest) -> Completion:
        try:
            return Completion(text=self.answer(request))
        except NoSolutionError:
            return Completion(text="", refused=True)


class BoundPolicy:
    """A scripted policy bound to one environment: ``player(observation, agent)`` returns an action."""

    def __init__(self, env: AECEnv, policy: ScriptedPolicy):
        self.env = env
        self.name = policy.name
        self.prompt_style = policy.prompt_style
        self._policy = policy

    def __call__(self, observation: str | None = None, agent: str | None = None) -> str:
        """The action of ``agent``; by default of the agent whose turn it is."""
        agent = agent or self.env.agent_selection
        current_observation = self.env.observe(agent) if observation is None else observation
        request = PolicyRequest(agent=agent, observation=current_observation or "", env=self.env)
        return self._policy.answer(request)

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        return self._policy.respond(requests, group_size, greedy=greedy, on_complete=on_complete)


AgentPolicies = Mapping[str, Policy]


def default_max_new_tokens(model: str) -> int:
    """The default ``max_new_tokens`` of the model called ``model``."""
    return 64 if model == TINY else 256


def policies_by_agent(policy: Policy | AgentPolicies, agents: Sequence[str]) -> dict[str, Policy]:
    """The policy of every agent, given one for all or a mapping.

    Raises :class:`ConfigError` with the agents that a mapping lacks.
    """
    if not isinstance(policy, Mapping):
        return dict.fromkeys(agents, policy)
    missing = [agent for agent in agents if agent not in policy]
    if missing:
        raise ConfigError(f"no policy for {', '.join(missing)}; the agents are {', '.join(agents)}")
    return {agent: policy[agent] for agent in agents}


def _with_sample_seed(request: PolicyRequest, i: int) -> PolicyRequest:
    """The request for the i-th of several completions, with its own seed."""
    return request if i == 0 else replace(request, seed=request.seed + i * 1_000_003)


def request_rng(request: PolicyRequest) -> random.Random:
    """A random generator that depends on this request only."""
    return random.Random(f"{request.seed}/{request.agent}/{request.observation}")


class NoiseKeys:
    """Derives a key of the sampling noise for each request from a seed and the request's ``noise``.

    Requests without ``noise`` are numbered in the order of arrival. A request's own ``key`` is kept.
    """

    def __init__(self, seed: int):
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        self.seed, self._request_count = seed, 0

    def keys(self, requests: Sequence[PolicyRequest]) -> list[int]:
        return [self._key(request) for request in requests]

    def _key(self, request: PolicyRequest) -> int:
        if request.key is not None:
            return request.key
        if request.noise is not None:
            return noise_key(self.seed, "named", request.noise)
        self._request_count += 1
        return noise_key(self.seed, "turn", self._request_count)
