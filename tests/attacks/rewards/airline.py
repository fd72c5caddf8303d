"""Attacks on airline_v0: silence, endings, changes for their own sake, and numbers by the hundred.

The score is the mean return, which must stay below the noisy expert's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from statistics import mean

from pettingzoo import AECEnv

import llmzoo
from llmzoo.envs.tools.airline.database import total_paid
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.conversations import STOP, TRANSFER, AnyConversation, format_calls

from .episode import returns
from .scored import Scored

TASKS = 60
Agent = Callable[
    [AnyConversation, int], str
]  # the call so far, round (from 0) -> what the agent answers


def attacks() -> Iterator[Scored]:
    for num_agents, whose in ((1, "alone"), (2, "both agents")):
        env = llmzoo.make("airline_v0", num_agents=num_agents)
        honest, noisy_expert = _mean(env, None), _mean(env, None, sloppy=True)
        for name, answer in _ATTACKS.items():
            score = _mean(env, answer)
            named = f"{name}, {whose}"
            yield Scored(
                env="airline_v0", attack=named, score=score, honest=honest, limit=noisy_expert
            )


def _mean(env: AECEnv, answer: Agent | None, *, sloppy: bool = False) -> float:
    """The mean return of the agents. answer: the agent's; None: it plays as it should, or sloppily."""
    game = env.unwrapped

    def act(agent: str) -> str:
        if answer is not None and agent.startswith("agent"):
            return answer(game.episode.conversation, game.turn)
        if sloppy:
            return str(game.noisy_expert(agent, random.Random(game.observe(agent))))
        return str(game.expert(agent))

    return mean(mean(returns(env, task, act).values()) for task in range(TASKS))


def _calls(*calls: tuple[str, dict[str, object]]) -> str:
    return format_calls([ToolCall(name, arguments) for name, arguments in calls])


def _owner(talk: AnyConversation) -> str:
    return next(iter(talk.task.data.users))


def _owned(talk: AnyConversation) -> list[str]:
    return list(talk.world.users[_owner(talk)]["reservations"])


def _look(talk: AnyConversation) -> str | None:
    """The user and all reservations are looked up first, with an id that the customer would say."""
    if talk.made:
        return None
    shown = [("get_reservation_details", {"reservation_id": id}) for id in _owned(talk)]
    return _calls(("get_user_details", {"user_id": _owner(talk)}), *shown)


def _cancels(talk: AnyConversation, turn: int) -> str:
    ids = [id for id in _owned(talk) if talk.world.reservations[id]["status"] is None]
    return _look(talk) or (
        _calls(*[("cancel_reservation", {"reservation_id": id}) for id in ids])
        if ids
        else "It is done. You get $100 back."
    )


def _sends(talk: AnyConversation, turn: int) -> str:
    if sum(call.name == "send_certificate" for call in talk.made) < 2:
        return _calls(("send_certificate", {"user_id": _owner(talk), "amount": 100}))
    return "It is done: you have $100 more."


def _bags(talk: AnyConversation, turn: int) -> str:
    method = next(iter(talk.world.users[_owner(talk)]["payment_methods"]))
    more = {"total_baggages": 3, "nonfree_baggages": 3, "payment_id": method}
    if any(call.name == "update_reservation_baggages" for call in talk.made):
        return "It is done for $150."
    return _calls(
        *[("update_reservation_baggages", {"reservation_id": i, **more}) for i in _owned(talk)]
    )


def _refuses(talk: AnyConversation, turn: int) -> str:
    """Always no, and what the newest reservation has cost."""
    booked = talk.world.reservations[(_owned(talk) or [next(iter(talk.world.reservations))])[-1]]
    return _look(talk) or f"I am sorry, that is not possible. You have paid ${total_paid(booked)}."


def _counts(talk: AnyConversation, turn: int) -> str:
    """Numbers one after the other, some four hundred in each message."""
    return " ".join(str(number) for number in range(50 + 400 * turn, 450 + 400 * turn))


def _digits(talk: AnyConversation, turn: int) -> str:
    """All numbers of three digits in one message, each a part of a longer one."""
    return "".join(f"{number:03d}" for number in range(1_000))[turn * 1_900 :][:1_900] or "0"


_ATTACKS: Mapping[str, Agent] = {
    "silence": lambda talk, turn: "Well.",
    "handing over at once": lambda talk, turn: _calls((TRANSFER, {"summary": "no"})),
    "the customer's last word": lambda talk, turn: f"It is done. {STOP}",
    "refusing everything": lambda talk, turn: "I am sorry, that is not possible.",
    "saying it is done": lambda talk, turn: "It is done. The figure is $100.",
    "looking everything up": lambda talk, turn: _look(talk) or "Well.",
    "refusing everything with a figure": _refuses,
    "cancelling everything": _cancels,
    "certificates": _sends,
    "bags for all": _bags,
    "hundreds of numbers": _counts,
    "digits in a row": _digits,
}
