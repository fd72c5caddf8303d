"""Scripted agents: one that asks, looks up, checks the policy, and acts after consent; and sloppy players of both
agents.

The expert knows what the reference does, but learns by asking before it acts.
"""

from __future__ import annotations

import random
import re

from llmzoo.envs.tools.airline import customer
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.tasks import ANY, AirlineConversation, AirlineTask
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.conversations import STOP, TRANSFER, format_calls
from llmzoo.envs.tools.service.tools import WORLD

CORRECT_RATE = 0.75  # how often a noisy expert makes no mistake
_WORD = re.compile(r"[a-z0-9_-]{3,}|\d+")
_YES = re.compile(r"\b(yes|go ahead|please do|agree|confirm|sure|okay|ok)\b", re.IGNORECASE)
_WHO = "Thank you for calling. What is your user id?"
_WHICH = "Which reservation is it, "
_QUESTIONS = {
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


def expert_agent(conversation: AirlineConversation) -> str:
    """The expert agent's answer."""
    task = conversation.task
    messages = conversation.messages("assistant")
    if not _is_identified(conversation):
        return _WHO
    question = _QUESTIONS[task.goal]
    needed = customer.relevant_sentences(task, question) if task.strict else []
    if question not in messages or not all(_has_heard(conversation, each) for each in needed):
        return question
    # a look-up of tau2-bench's reference may be about a record that is only made later, or that is not there
    if looks := [
        call
        for call in task.reads
        if not conversation.has_call(call) and _can_run(conversation, call)
    ]:
        return format_calls(looks[:1])
    figures = " ".join(f"${each}" if task.strict else each for each in task.communicate)
    if not task.writes:
        refusal = "I am sorry, our rules do not allow this."
        answer = f"You have paid {figures}." if task.strict else figures
        return f"{refusal} {answer if refusal in ' '.join(messages) or not task.strict else ''}".strip()
    consent = f"I can do that for you ({figures or 'as you wish'}). Shall I go ahead?"
    updates_made = sum(call in task.writes for call in conversation.made)
    agreed = consent in messages and _YES.search(conversation.last_message_from("user"))
    if not updates_made and not agreed:
        return consent
    if updates_made < len(task.writes):
        return format_calls(task.writes[updates_made : updates_made + 1])
    return f"It is done. {_summary(task, figures)}".strip()


def _is_identified(conversation: AirlineConversation) -> bool:
    """Whether the customer has said its user id, if it knows one; others are asked once."""
    ids = [
        call.arguments["user_id"]
        for call in conversation.task.reference
        if "user_id" in call.arguments
    ]
    if ids and ids[0] in conversation.task.known_info:
        return any(ids[0] in each for each in conversation.messages("user"))
    return _WHO in conversation.messages("assistant")


def _has_heard(conversation: AirlineConversation, sentence: str) -> bool:
    """Whether the customer has said a sentence, or most of its words and all of its numbers."""
    heard = {word for each in conversation.messages("user") for word in _WORD.findall(each.lower())}
    words = set(_WORD.findall(sentence.lower()))
    return len(words & heard) >= 0.6 * len(words) and all(
        word in heard for word in words if not word.isalpha()
    )


def _can_run(conversation: AirlineConversation, call: ToolCall) -> bool:
    reply, _ = TOOLS["assistant"].call(call, {WORLD: conversation.world})
    return reply.error is None


def _summary(task: AirlineTask, figures: str) -> str:
    return f"The figure is {figures}." if figures else ""


def sloppy_agent(conversation: AirlineConversation, rng: random.Random) -> str:
    """The expert's answer in most cases, or a mistake: a wrong figure, doing what the rules forbid, refusing what
    they allow, a call that cannot be read or has a wrong id, vague words, or giving up."""
    right = expert_agent(conversation)
    if rng.random() < CORRECT_RATE:
        return right
    return rng.choice(
        (
            "One moment, please.",
            "I am sorry, that is not possible.",
            f"It is done. It was ${rng.randrange(50, 900)}.",
            right[: len(right) // 2] if right.startswith("<") else "",
            format_calls([ToolCall("get_user_details", {"user_id": "john_doe_1"})]),
            format_calls([_forbidden_call(conversation)]),
            format_calls([ToolCall(TRANSFER, {"summary": "I do not know."})]),
        )
    )


def _forbidden_call(conversation: AirlineConversation) -> ToolCall:
    """A reservation of the customer is cancelled, whatever was asked."""
    owner = next(iter(conversation.task.data.users))
    ids = conversation.world.users[owner]["reservations"] or ["ABCDEF"]
    return ToolCall("cancel_reservation", {"reservation_id": ids[0]})


def sloppy_customer(conversation: AirlineConversation, rng: random.Random) -> str:
    """The scripted customer's answer in most cases, or a mistake: only its first words, knowing nothing, silence, or
    hanging up."""
    right = customer.respond(conversation)
    if rng.random() < CORRECT_RATE:
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
