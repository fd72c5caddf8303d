"""A policy in each seat of programs that run elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.errors import ConfigError, check_names
from llmzoo.policies import SCRIPTED
from llmzoo.policies.base import Policy, Request, RoutedPolicy
from llmzoo.policies.settings import Sampled, Sampling
from llmzoo.training.players import players
from llmzoo.training.seats import SeatConfig

_PROMPTS = ("system", "chat_template_args", "thought_end")
_LEARNING = ("frozen", "learning_rate")


class Seated(RoutedPolicy):
    """The policies of several seats as one. Each answers its own agents."""

    def __init__(self, seats: Mapping[str, Policy]):
        self.name = ", ".join(dict.fromkeys(policy.name for policy in seats.values()))
        self.prompt_style: str | None = None
        self._seats = dict(seats)

    def route(self, request: Request) -> Policy:
        return self._seats[request.agent]


def load_seats(
    agents: Sequence[str],
    policy: str,
    seat_args: Mapping[str, Mapping[str, Any]],
    *,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
    chat: Mapping[str, Any] | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Policy]:
    """The policy of every seat: ``policy``, or its own ``policy`` among ``seat_args``.

    ``seat_args`` maps agents to fields of :class:`llmzoo.training.seats.SeatConfig`. Seats of the same
    name and prompts share a model. The other arguments are those of
    :func:`llmzoo.training.players.players`.

    Raises :class:`ConfigError` for a scripted player, which would read the environment, and for
    settings of learning; :class:`UnknownNameError` for an unknown seat.
    """
    check_names("seat", seat_args, agents)
    for agent, given in seat_args.items():
        for name in given:
            if name in _LEARNING:
                raise ConfigError(f"seat {agent!r}: nobody learns here, so {name} means nothing")
    configs = {agent: SeatConfig(**seat_args.get(agent, {})) for agent in agents}
    groups: dict[str, list[str]] = {}
    for agent, config in configs.items():
        name = config.policy or policy
        if name in SCRIPTED:
            raise ConfigError(
                f"{name!r} cannot answer for {agent!r}: it looks at the environment (or is a "
                "person), and a program elsewhere has none. Name a model"
            )
        own = {n: v for n, v in seat_args.get(agent, {}).items() if n in _PROMPTS}
        prompts = {**(chat or {}), **own}
        groups.setdefault(json.dumps([name, prompts]), []).append(agent)
    seats: dict[str, Policy] = {}
    for key, members in groups.items():
        name, prompts = json.loads(key)
        loaded = players(
            name,
            members,
            seed=seed,
            sampling=sampling,
            chat=prompts,
            device=device,
            trust_remote_code=trust_remote_code,
        )
        for agent in members:
            samples = set(seat_args.get(agent, {})) - {"policy", *_PROMPTS}
            seats[agent] = (
                _under(loaded[agent], agent, configs[agent]) if samples else loaded[agent]
            )
    return {agent: seats[agent] for agent in agents}


def _under(policy: Policy, agent: str, config: SeatConfig) -> Policy:
    """The policy with a seat's own settings of sampling."""
    assert isinstance(policy, Sampled)  # a model, an endpoint or a server
    try:
        return policy.under(config.sampling(policy.sampling_of(agent) or Sampling()))
    except ValueError as error:
        raise ConfigError(f"seat {agent!r}: {error}") from None
