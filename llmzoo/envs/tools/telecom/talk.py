"""How a call begins."""

from __future__ import annotations

from llmzoo.envs.tools.service import talk
from llmzoo.envs.tools.service.talk import Entry
from llmzoo.envs.tools.telecom.tasks import Task
from llmzoo.envs.tools.telecom.world import World

Talk = talk.Talk[Task, World]

OPENINGS = {
    "service_issue": "My phone has had no service for some hours.",
    "mobile_data_issue": (
        "The mobile data on my phone does not work properly: it is very slow, or there is none."
    ),
    "mms_issue": "I have not been able to send picture messages for some hours.",
}


def begin(task: Task) -> Talk:
    who = task.world.place
    opening = f"Hello, this is {who.name}, my number is {who.phone_number}. {OPENINGS[task.goal]}"
    return Talk(task, task.world, (Entry("user", "message", opening),))
