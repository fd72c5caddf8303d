"""What an environment shows, as a message: :func:`write_view` on the server, :func:`read_view` on the client."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pettingzoo import AECEnv

from llmzoo.rollout.stepping import agents_to_act
from llmzoo.serve import protobuf_values
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.spaces import Observation

_LONGEST_NAME = 200  # characters


class EnvView(NamedTuple):  # fast to create
    """What a client knows of a session, in PettingZoo's form."""

    agents: list[str]
    selection: str
    rewards: dict[str, float]
    cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    observations: dict[str, Any]


def write_view(env: AECEnv, numbers: Mapping[str, int], view: pb.View) -> None:
    """Fill an empty view. ``numbers``: the index of every possible agent.

    Raises ``UntypedError`` for an info that cannot be sent, and what the environment raises.
    """
    agents = env.agents
    view.agents.extend([numbers[agent] for agent in agents])
    view.selection = numbers[env.agent_selection]
    view.rewards.extend([float(env.rewards[agent]) for agent in agents])
    view.cumulative_rewards.extend([float(env._cumulative_rewards[agent]) for agent in agents])
    view.terminations.extend([bool(env.terminations[agent]) for agent in agents])
    view.truncations.extend([bool(env.truncations[agent]) for agent in agents])
    for agent in agents:
        try:
            protobuf_values.write_entries(env.infos[agent], view.infos.add().entries)
        except protobuf_values.UntypedError as error:
            raise protobuf_values.UntypedError(
                f"an info of agent {numbers[agent]}: {error}"
            ) from None
    for agent in _agents_to_observe(env):
        write_observation(env.observe(agent), numbers[agent], view.observations.add())


def read_view(view: pb.View, names: Sequence[str]) -> EnvView:
    """The view as the client reads it. ``names``: the possible agents.

    Raises ``ValueError`` or ``LookupError`` for an invalid view, such as one with rewards that are
    not finite, or with names in infos that would break a log line.
    """
    agents = [names[number] for number in view.agents]
    infos = [protobuf_values.read_entries(info.entries) for info in view.infos]
    for info in infos:
        _check_names(info)
        _check_names(info.get("reward_components"))
    if not math.isfinite(sum(view.rewards) + sum(view.cumulative_rewards)):
        raise ValueError("rewards that are not finite")
    return EnvView(
        agents,
        names[view.selection],
        dict(zip(agents, view.rewards, strict=True)),
        dict(zip(agents, view.cumulative_rewards, strict=True)),
        dict(zip(agents, view.terminations, strict=True)),
        dict(zip(agents, view.truncations, strict=True)),
        dict(zip(agents, infos, strict=True)),
        {names[each.agent]: read_observation(each) for each in view.observations},
    )


def write_observation(observation: Any, number: int, message: pb.Observation) -> None:
    message.agent = number
    if isinstance(observation, str):
        try:
            message.text = observation
            return
        except UnicodeEncodeError:  # a lone surrogate
            pass
    protobuf_values.write(observation, message.other)


def read_observation(message: pb.Observation) -> Any:
    value = protobuf_values.read(message.other) if message.HasField("other") else message.text
    return Observation(value) if isinstance(value, str) else value


def _check_names(value: Any) -> None:
    for name in value if isinstance(value, dict) else ():
        if isinstance(name, str) and not (name.isprintable() and len(name) <= _LONGEST_NAME):
            raise ValueError(f"the name {name[:60]!r} in an info")


def _agents_to_observe(env: AECEnv) -> list[str]:
    """The agents that choose next, and those that are done."""
    ended = [agent for agent in env.agents if env.terminations[agent] or env.truncations[agent]]
    if len(ended) == len(env.agents):
        return ended
    return [*ended, *(agent for agent in agents_to_act(env) if agent not in ended)]
