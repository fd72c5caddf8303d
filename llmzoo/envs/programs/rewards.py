"""What a program pays and returns, as rewards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from llmzoo.envs.base import TEAM_COMPONENT, Outcome
from llmzoo.envs.programs.errors import ProgramError
from llmzoo.envs.programs.messages import find_agent
from llmzoo.errors import UnknownNameError

PART = "reward"  # the part of an agent that is paid a number
Shares = dict[str, dict[str, float]]  # of each agent, by part


def parse_outcome(result: Any, agents: Sequence[str]) -> Outcome:
    """The end of an episode by what a program returned; its ``success`` is None where it does not say.

    A number is paid to all agents, a mapping from agents to numbers (or to named parts) to each of
    them, an :class:`Outcome` as it says. ``(reward, success)`` says both. Raises :class:`ProgramError`
    for anything else.
    """
    success: bool | None = None
    if isinstance(result, tuple) and not isinstance(result, Outcome):
        if len(result) != 2 or not isinstance(result[1], bool):
            raise ProgramError(
                f"a program returns a reward, or (reward, success); got {result!r:.80}"
            )
        result, success = result
    elif isinstance(result, bool):
        success = result
    if isinstance(result, Outcome):
        success = result.success if success is None else success
        return result._replace(local=_shares(result.local, agents), done=True, success=success)
    paid = parse_agent_rewards(result, agents)
    if isinstance(paid, dict):
        return Outcome(local=paid, done=True, success=success)
    return Outcome(team=paid, done=True, success=success)


def parse_agent_rewards(reward: Any, agents: Sequence[str]) -> float | Shares:
    """A reward as a number for every agent, or as named components of single agents, copied.

    Raises :class:`ProgramError` for what is no finite number, and for agents that are not there.
    """
    return _shares(reward, agents) if isinstance(reward, Mapping) else _number(reward)


def add_earlier_rewards(outcome: Outcome, paid: Sequence[float | Shares]) -> Outcome:
    """An outcome with what the program paid before it ended."""
    team = outcome.team
    local = {agent: dict(parts) for agent, parts in outcome.local.items()}
    for reward in paid:
        if isinstance(reward, dict):
            for agent, parts in reward.items():
                own = local.setdefault(agent, {})
                for name, value in parts.items():
                    own[name] = own.get(name, 0.0) + value
        elif isinstance(team, Mapping):
            raise ProgramError("a program pays its team a number, or named parts, not both")
        else:
            team += reward
    return outcome._replace(team=team, local=local)


def _shares(rewards: Mapping[Any, Any], agents: Sequence[str]) -> Shares:
    shares: Shares = {}
    for name, share in rewards.items():
        try:
            agent = find_agent(name, agents)
        except UnknownNameError as error:
            raise ProgramError(f"a program paid somebody else: {error}") from None
        if agent in shares:
            raise ProgramError(f"a program paid {agent} twice at once, under two names")
        parts = share if isinstance(share, Mapping) else {PART: share}
        if TEAM_COMPONENT in parts:
            raise ProgramError(
                f"a program paid {agent} a part called {TEAM_COMPONENT!r}, the team's own"
            )
        shares[agent] = {str(part): _number(value) for part, value in parts.items()}
    return shares


def _number(value: Any) -> float:
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise ProgramError(
            f"a program returns a reward: a finite number, or one for each agent; got {value!r:.80}"
        )
    return number
