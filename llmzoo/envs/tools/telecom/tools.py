"""The tools of both sides."""

from __future__ import annotations

from collections.abc import Mapping

from llmzoo.envs.tools.service.tools import Side, make_service_tools
from llmzoo.envs.tools.telecom import agent_tools, phone
from llmzoo.envs.tools.telecom.world import sync_sides
from llmzoo.envs.tools.toolbox import Toolbox

TOOLS: Mapping[Side, Toolbox] = {
    "user": make_service_tools(phone.FUNCTIONS.values(), sync_sides),
    "assistant": make_service_tools(agent_tools.FUNCTIONS.values(), sync_sides),
}
