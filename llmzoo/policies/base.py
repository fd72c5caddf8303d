"""A policy: text in, text out, for a batch of seats at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from pettingzoo import AECEnv

from llmzoo.errors import NoSolutionError
from llmzoo.records import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A seat that waits for an answer.

    ``env`` is the environment as it stands, for scripted players that look behind the prompt;
    models read ``observation`` only. ``seed`` is this request's own, for scripted chance.
    ``noise`` names this request's chance: the same number draws the same answers whatever else is
    asked in the same call; None: the policy's own order. ``key`` is the key itself, where who asks
    has made it from a seed of its own (:class:`llmzoo.policies.chance.Chance`). Once ``given_up``
    is set nobody waits for the answer any more: a policy may leave it unfinished.
    """

    agent: str
    observation: str
    env: AECEnv
    seed: int = 0
    noise: int | None = None
    key: int | None = None
    given_up: Event | None = None


class Policy(Protocol):
    """Answers requests; one model may sit in several seats.

    ``prompt_style``: the form of prompt that it was made for (``"terse"``), or None for any.
    """

    name: str
    prompt_style: str | None

    def respond(
        self, requests: Sequence[Request], group_size: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        """``group_size`` completions for each request, in order.

        ``greedy``: the most likely answer instead of a sampled one (group_size must be 1); a policy
        that knows no chance ignores it.
        """
        ...


Answered = Callable[[int, list[Completion]], None]  # the number of a request, and its answers


class EarlyPolicy:
    """A policy that hands out each request's answers as soon as they are complete.

    What waits for them goes on while the other answers are still being written.
    """

    def respond_early(
        self,
        requests: Sequence[Request],
        group_size: int = 1,
        *,
        greedy: bool = False,
        answered: Answered,
    ) -> list[list[Completion]]:
        """As :meth:`Policy.respond`; ``answered`` is called once for each request, before the end."""
        raise NotImplementedError


class ScriptedPolicy:
    """A policy made of a function from a :class:`Request` to an answer.

    Where the function raises :class:`NoSolutionError`, :meth:`respond` gives an empty completion
    that is marked as refused.
    """

    def __init__(self, answer: Callable[[Request], str], name: str = "scripted"):
        self.name = name
        self.prompt_style: str | None = None
        self.answer = answer

    def respond(
        self, requests: Sequence[Request], group_size: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        return [
            [self._completion(_nth(request, i)) for i in range(group_size)] for request in requests
        ]

    def _completion(self, request: Request) -> Completion:
        try:
            return Completion(text=self.answer(request))
        except NoSolutionError:
            return Completion(text="", refused=True)


class Player:
    """A scripted policy bound to one environment: ``player(observation, agent)`` gives an answer."""

    def __init__(self, env: AECEnv, policy: ScriptedPolicy):
        self.env = env
        self.name = policy.name
        self.prompt_style = policy.prompt_style
        self._policy = policy

    def __call__(self, observation: str | None = None, agent: str | None = None) -> str:
        """The answer of ``agent``, by default the one whose turn it is."""
        agent = agent or self.env.agent_selection
        seen = self.env.observe(agent) if observation is None else observation
        request = Request(agent=agent, observation=seen or "", env=self.env)
        return self._policy.answer(request)

    def respond(
        self, requests: Sequence[Request], group_size: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        return self._policy.respond(requests, group_size, greedy=greedy)


Seats = Mapping[str, Policy]

TINY = "tiny"  # the name of the embedded model


def answer_limit(model: str) -> int:
    """Tokens of an answer of the model called ``model``, where nothing else is said."""
    return 64 if model == TINY else 256


def seat_policies(policy: Policy | Seats, agents: Sequence[str]) -> dict[str, Policy]:
    """A policy for every seat: one for all, or a mapping that names each.

    Raises ``ValueError`` naming the seats that a mapping leaves empty.
    """
    if not isinstance(policy, Mapping):
        return dict.fromkeys(agents, policy)
    missing = [agent for agent in agents if agent not in policy]
    if missing:
        raise ValueError(f"no policy for {', '.join(missing)}; the seats are {', '.join(agents)}")
    return {agent: policy[agent] for agent in agents}


def _nth(request: Request, i: int) -> Request:
    """The request as the i-th of several answers sees it: with chance of its own."""
    return request if i == 0 else replace(request, seed=request.seed + i * 1_000_003)


def request_rng(request: Request) -> random.Random:
    """A random stream that belongs to this request alone."""
    return random.Random(f"{request.seed}/{request.agent}/{request.observation}")
