"""Scripted agents: one that asks, looks up, checks the policy, and acts after consent; and sloppy players of both
agents.

The expert knows what the reference does, but learns by asking before it acts.
"""

from __future__ import annotations

import random
import re

from llmzoo.envs.tools.airline import customer
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.tasks import ANY, Talk, Task
from llmzoo.envs.tools.service.talk import STOP, TRANSFER, written
from llmzoo.envs.tools.service.toolset import Call, ToolError

RIGHT = 0.75  # how often an amateur makes no mistake
_WORD = re.compile(r"[a-z0-9_-]{3,}|\d+")
_YES = re.compile(r"\b(yes|go ahead|please do|agree|confirm|sure|okay|ok)\b", re.IGNORECASE)
_WHO = "Thank you for calling. What is your user id?"
_WHICH = "Which reservation is it, "
_ASKED = {
    "booking": (
        "Which flight do you want and in which cabin, who are the passengers, how many bags, do you want insurance, "
        "and how do you pay?"
    ),
    "cancellation": f"{_WHICH}and what is the reason?",
    "change": f"{_WHICH}which flight do you want, and with which card do you pay?",
    "cabin": f"{_WHICH}which cabin do you want, and with which card do you pay?",
    "baggage": f"{_WHICH}and with which card do you pay?",
    "passengers": f"{_WHICH}and who are the passengers?",
    "insurance": f"{_WHICH}and with which card do you pay?",
    "compensation": f"{_WHICH}and what is the reason?",
    ANY: "Which reservation is it, and what exactly do you want?",
}


def agent(talk: Talk) -> str:
    """The expert agent's answer."""
    task = talk.task
    said = talk.messages("assistant")
    if not _knows_who(talk):
        return _WHO
    asked = _ASKED[task.goal]
    needed = customer.told_about(task, asked) if task.strict else []
    if asked not in said or not all(_heard(talk, each) for each in needed):
        return asked
    # a look-up of tau2-bench's reference may be about a record that is only made later, or that is not there
    if looks := [call for call in task.reads if not talk.was_made(call) and _works(talk, call)]:
        return written(looks[:1])
    figures = " ".join(f"${each}" if task.strict else each for each in task.communicate)
    if not task.writes:
        refused = "I am sorry, our rules do not allow this."
        told = f"You have paid {figures}." if task.strict else figures
        return f"{refused} {told if refused in ' '.join(said) or not task.strict else ''}".strip()
    consent = f"I can do that for you ({figures or 'as you wish'}). Shall I go ahead?"
    made = sum(call in task.writes for call in talk.made)
    agreed = consent in said and _YES.search(talk.last_message("user"))
    if not made and not agreed:
        return consent
    if made < len(task.writes):
        return written(task.writes[made : made + 1])
    return f"It is done. {_summary(task, figures)}".strip()


def _knows_who(talk: Talk) -> bool:
    """Whether the customer has said its user id, if it knows one; others are asked once."""
    ids = [call.arguments["user_id"] for call in talk.task.reference if "user_id" in call.arguments]
    if ids and ids[0] in talk.task.known:
        return any(ids[0] in each for each in talk.messages("user"))
    return _WHO in talk.messages("assistant")


def _heard(talk: Talk, sentence: str) -> bool:
    """Whether the customer has said a sentence, or most of its words and all of its numbers."""
    told = {word for each in talk.messages("user") for word in _WORD.findall(each.lower())}
    words = set(_WORD.findall(sentence.lower()))
    return len(words & told) >= 0.6 * len(words) and all(
        word in told for word in words if not word.isalpha()
    )


def _works(talk: Talk, call: Call) -> bool:
    try:
        TOOLS.run(talk.world, call)
    except ToolError:
        return False
    return True


def _summary(task: Task, figures: str) -> str:
    return f"The figure is {figures}." if figures else ""


def sloppy_agent(talk: Talk, rng: random.Random) -> str:
    """The expert's answer in most cases, or a mistake: a wrong figure, doing what the rules forbid, refusing what
    they allow, a call that cannot be read or has a wrong id, vague words, or giving up."""
    right = agent(talk)
    if rng.random() < RIGHT:
        return right
    return rng.choice(
        (
            "One moment, please.",
            "I am sorry, that is not possible.",
            f"It is done. It was ${rng.randrange(50, 900)}.",
            right[: len(right) // 2] if right.startswith("<") else "",
            written([Call("assistant", "get_user_details", {"user_id": "john_doe_1"})]),
            written([_forbidden(talk)]),
            written([Call("assistant", TRANSFER, {"summary": "I do not know."})]),
        )
    )


def _forbidden(talk: Talk) -> Call:
    """A reservation of the customer is cancelled, whatever was asked."""
    owner = next(iter(talk.task.data.users))
    ids = talk.world.users[owner]["reservations"] or ["ABCDEF"]
    return Call("assistant", "cancel_reservation", {"reservation_id": ids[0]})


def sloppy_customer(talk: Talk, rng: random.Random) -> str:
    """The scripted customer's answer in most cases, or a mistake: only its first words, knowing nothing, silence, or
    hanging up."""
    right = customer.answer(talk)
    if rng.random() < RIGHT:
        return right
    return rng.choice(
        (
            f"{right.split('. ')[0]}.",
            "I do not know. Can you look it up?",
            "What do you mean?",
            "",
            f"I give up. {STOP}" if rng.random() < 0.5 else right,
        )
    )
