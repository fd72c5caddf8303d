"""What has changed in an environment since its client last saw it.

The server remembers the last state that its client has seen of each session. A view holds the
difference. :func:`write_view` runs on the server, and :func:`read_view`, its mirror image, on the client.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pettingzoo import AECEnv

from llmzoo.rollout.stepping import agents_to_act
from llmzoo.serve import protobuf_values
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.spaces import Observation

_numbers = itertools.count(
    1
)  # of views; forks inherit views, so numbers are unique across sessions
_SCALARS = frozenset({str, int, float, bool, type(None), bytes})  # immutable


class ClientState(NamedTuple):  # fast to create
    """What a client knows of a session, in PettingZoo's form.

    On the server these are copies, so later changes of the environment do not affect them.
    """

    number: int
    agents: list[str]
    selection: str
    rewards: dict[str, float]
    cumulative_rewards: dict[str, float]
    terminations: dict[str, bool]
    truncations: dict[str, bool]
    infos: dict[str, dict[str, Any]]
    observations: dict[str, Any]


def write_view(
    env: AECEnv, known: ClientState | None, numbers: Mapping[str, int], view: pb.View
) -> ClientState:
    """Fill an empty view with what has changed since ``known``; returns what the client knows then.

    ``numbers``: the index of every possible agent. Raises ``UntypedError`` for an info that cannot
    be sent, and what the environment raises.
    """
    agents = env.agents.copy()
    view.number = number = next(_numbers) % (2**32 - 1) + 1
    if known is None:
        known = _EMPTY_STATE
    else:
        view.since = known.number
    same = known.agents == agents and known is not _EMPTY_STATE
    if not same:
        view.agents.extend([numbers[a] for a in agents])
        view.nobody = not agents
    selection = env.agent_selection
    if known.selection != selection:
        view.selection = numbers[selection]
    rewards, terminations, truncations = known.rewards, known.terminations, known.truncations
    if not same or rewards != env.rewards:
        rewards = _write_each(env.rewards, agents, float, view.rewards)
    cumulative = known.cumulative_rewards
    if not same or cumulative != env._cumulative_rewards:
        cumulative = _write_each(env._cumulative_rewards, agents, float, view.cumulative_rewards)
    if not same or terminations != env.terminations:
        terminations = _write_each(env.terminations, agents, bool, view.terminations)
    if not same or truncations != env.truncations:
        truncations = _write_each(env.truncations, agents, bool, view.truncations)
    infos, env_infos, into = {}, env.infos, view.infos
    for agent in agents:
        infos[agent] = _write_info(env_infos[agent], known.infos.get(agent), numbers[agent], into)
    observations = {}
    for agent in _agents_to_observe(env, agents, terminations, truncations):
        observations[agent] = observation = env.observe(agent)
        before = known.observations.get(agent, _MISSING)
        if isinstance(observation, str) and observation == before:
            view.same_observations.append(numbers[agent])
        else:
            write_observation(observation, numbers[agent], view.observations.add())
    endings = terminations, truncations
    return ClientState(
        number, agents, selection, rewards, cumulative, *endings, infos, observations
    )


def _write_each(now: dict[str, Any], agents: list[str], kind: type, into: Any) -> dict[str, Any]:
    """Add each agent's value to a repeated field. Returns a copy of the values."""
    into.extend([kind(now[agent]) for agent in agents])
    return now.copy()


def read_view(view: pb.View, known: ClientState | None, names: Sequence[str]) -> ClientState:
    """What the client knows after ``view``. ``known``: its state before, which stays unchanged.

    Raises ``ValueError`` or ``LookupError`` for an invalid view, such as one with rewards that are
    not finite, or with names in infos that would break a log line.
    """
    if view.since and (known is None or known.number != view.since):
        raise ValueError(f"a view since {view.since}, which this client has not seen")
    if known is None or not view.since:
        known = _EMPTY_STATE
    agents = known.agents
    if view.agents or view.nobody:
        agents = [names[number] for number in view.agents]
    infos = known.infos
    if view.infos or agents is not known.agents:
        infos = {agent: known.infos.get(agent, {}) for agent in agents}
        for change in view.infos:
            agent = names[change.agent]
            updates = protobuf_values.read_entries(change.set)
            _check_names(updates)
            _check_names(updates.get("reward_components"))
            info = {**infos[agent], **updates}
            for key in change.removed:
                del info[key]
            infos[agent] = info
    observations = {}
    for number in view.same_observations:
        observations[names[number]] = known.observations[names[number]]
    for observation in view.observations:
        observations[names[observation.agent]] = read_observation(observation)
    if not math.isfinite(sum(view.rewards) + sum(view.cumulative_rewards)):
        raise ValueError("rewards that are not finite")
    return ClientState(
        view.number,
        agents,
        names[view.selection] if view.HasField("selection") else known.selection,
        _zip_by_agent(agents, view.rewards, known.rewards),
        _zip_by_agent(agents, view.cumulative_rewards, known.cumulative_rewards),
        _zip_by_agent(agents, view.terminations, known.terminations),
        _zip_by_agent(agents, view.truncations, known.truncations),
        infos,
        observations,
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


_LONGEST_NAME = 200  # characters
_MISSING = object()
_EMPTY_STATE = ClientState(0, [], "", {}, {}, {}, {}, {}, {})


def _check_names(value: Any) -> None:
    for name in value if isinstance(value, dict) else ():
        if isinstance(name, str) and not (name.isprintable() and len(name) <= _LONGEST_NAME):
            raise ValueError(f"the name {name[:60]!r} in an info")


def _zip_by_agent(
    agents: Sequence[str], received: Sequence[Any], known: dict[str, Any]
) -> dict[str, Any]:
    if received:
        return dict(zip(agents, received, strict=True))
    return known if agents else {}


def _agents_to_observe(
    env: AECEnv,
    agents: list[str],
    terminations: Mapping[str, bool],
    truncations: Mapping[str, bool],
) -> list[str]:
    """The agents that choose next, and those that are done."""
    if not agents:
        return []
    if True not in terminations.values() and True not in truncations.values():
        return agents_to_act(env)
    ended = [agent for agent in agents if terminations[agent] or truncations[agent]]
    if len(ended) == len(agents):
        return agents
    return [*ended, *(agent for agent in agents_to_act(env) if agent not in ended)]


def _write_info(
    info: Mapping[str, Any], before: dict[str, Any] | None, number: int, into: Any
) -> dict[str, Any]:
    """Add what has changed in an agent's info, if anything. Returns a copy of the info."""
    known = {} if before is None else before
    changed: dict[str, Any] = {}
    for key, value in info.items():
        was = known.get(key, _MISSING)
        # a list or mapping is never its own copy, so what is the same object cannot have changed
        if value is was:
            continue
        kind = type(value)
        if kind in _SCALARS:
            if kind is not type(was) or value != was:
                changed[key] = value
        elif not _is_same(value, was):
            changed[key] = _copy(value)
    if not changed and len(known) == len(info):
        return known
    after = {**known, **changed}
    removed = [key for key in known if key not in info] if len(after) != len(info) else []
    message = into.add()
    message.agent = number
    for key in removed:
        message.removed.append(key)
        del after[key]
    try:
        protobuf_values.write_entries(changed, message.set)
    except protobuf_values.UntypedError as error:
        raise protobuf_values.UntypedError(f"an info of agent {number}: {error}") from None
    return after


def _is_same(value: Any, known: Any) -> bool:
    """Whether a value is what it was, in type too; a list is as good as a tuple."""
    kind = type(value)
    if kind in _SCALARS:
        return kind is type(known) and bool(value == known)
    if kind is dict or isinstance(value, Mapping):
        if type(known) is not dict or len(value) != len(known):
            return False
        return list(value) == list(known) and all(map(_is_same, value.values(), known.values()))
    if isinstance(value, list | tuple):
        return (
            isinstance(known, list)
            and len(value) == len(known)
            and all(map(_is_same, value, known))
        )
    if isinstance(value, np.ndarray):
        return (
            isinstance(known, np.ndarray)
            and value.dtype == known.dtype
            and value.shape == known.shape
            and value.tobytes() == known.tobytes()
        )
    return type(value) is type(known) and bool(value == known)


def _copy(value: Any) -> Any:
    """A copy that stays as it is when the environment changes what it holds."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {key: _copy(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(held) for held in value]
    if isinstance(value, np.ndarray):
        return value.copy()
    return value
