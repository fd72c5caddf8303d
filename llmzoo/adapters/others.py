"""Who plays the seats that nobody trains: policies by name, functions, or policies themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from llmzoo import policies, run_folder
from llmzoo.endpoints import PREFIX
from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.policies.base import Policy, ScriptedPolicy, answer_limit
from llmzoo.policies.settings import Sampling
from llmzoo.registry import is_remote

Answer = Callable[[str], str]  # from what the seat reads to its answer
Other = str | Answer | Policy
Others = Other | Mapping[str, Other] | None


@runtime_checkable
class _Responds(Protocol):
    respond: Callable[..., object]


def seat_others(others: Others, agents: Sequence[str]) -> dict[str, Policy]:
    """A policy for each of ``agents``.

    ``others``: one for all of them, or a mapping with one for each. A name is one of those that
    ``llmzoo eval --policy`` takes (``oracle``, ``amateur``, ``random``, ``human``, ``tiny``, a
    folder or hub id of a model, a run folder, ``openai:MODEL``, ``grpc://HOST:PORT``); a function
    is given the text that the seat reads, and returns its answer; anything with ``respond`` is a
    policy. Equal names share one policy, and so one call for all who wait for it. Where there are
    no other seats, nobody is needed and a player for all of them is let be.

    Raises :class:`ConfigError` for a seat without a player and for what is none of these.
    """
    if not agents:
        given = others if isinstance(others, Mapping) else {}
        _check_seats(given, agents)
        return {}
    if others is None:
        raise ConfigError(
            f"nobody plays {', '.join(agents)}: give others, such as others='oracle' or "
            f"others={{'{agents[0]}': 'tiny'}}"
        )
    if not isinstance(others, Mapping):
        others = dict.fromkeys(agents, others)
    _check_seats(others, agents)
    missing = [agent for agent in agents if agent not in others]
    if missing:
        raise ConfigError(f"others has nobody for {', '.join(missing)}; it has {', '.join(others)}")
    seated: dict[str, Policy] = {}
    by_name: dict[str, dict[str, Policy]] = {}
    for agent in agents:
        other = others[agent]
        if isinstance(other, str):
            if other not in by_name:
                named = [a for a in agents if others[a] == other]
                by_name[other] = _named(other, named)
            seated[agent] = by_name[other][agent]
        elif isinstance(other, _Responds):
            seated[agent] = other
        elif callable(other):
            seated[agent] = _of(other)
        else:
            raise ConfigError(
                f"{agent} is played by {other!r:.60}: give a name, a function or a policy"
            )
    return seated


def _check_seats(others: Mapping[str, Other], agents: Sequence[str]) -> None:
    for agent in others:
        if agent not in agents:
            raise UnknownNameError("seat in others", agent, agents)


def _of(answer: Answer) -> ScriptedPolicy:
    return ScriptedPolicy(lambda request: answer(request.observation), "function")


def _named(name: str, agents: Sequence[str]) -> dict[str, Policy]:
    if run_folder.is_run(name):
        try:
            from llmzoo.seating import seats_of_run
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"the run {name!r}", "train", error.name) from error
        return seats_of_run(name, agents)
    if name in policies.SCRIPTED or is_remote(name):
        return dict.fromkeys(agents, policies.load(name))
    if not name.startswith(PREFIX):
        policies.check_model(name)
    settings = Sampling(max_new_tokens=answer_limit(name))
    return dict.fromkeys(agents, policies.load(name, sampling=settings))
