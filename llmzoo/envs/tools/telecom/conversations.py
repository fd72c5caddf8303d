"""How a call begins."""

from __future__ import annotations

from llmzoo.envs.tools.service import conversations
from llmzoo.envs.tools.service.conversations import ConversationEntry
from llmzoo.envs.tools.telecom.tasks import TelecomTask
from llmzoo.envs.tools.telecom.world import World

TelecomConversation = conversations.ServiceConversation[TelecomTask, World]

OPENINGS = {
    "service_issue": "My phone has had no service for some hours.",
    "mobile_data_issue": (
        "The mobile data on my phone does not work properly: it is very slow, or there is none."
    ),
    "mms_issue": "I have not been able to send picture messages for some hours.",
}


def start_conversation(task: TelecomTask) -> TelecomConversation:
    who = task.world.place
    opening = f"Hello, this is {who.name}, my number is {who.phone_number}. {OPENINGS[task.goal]}"
    return TelecomConversation(task, task.world, (ConversationEntry("user", "message", opening),))
