"""The tools of both sides."""

from __future__ import annotations

from llmzoo.envs.tools.service.toolset import Toolset
from llmzoo.envs.tools.telecom import agent_tools, phone
from llmzoo.envs.tools.telecom.world import World, sync_sides

TOOLS: Toolset[World] = Toolset({"user": phone.TOOLS, "assistant": agent_tools.TOOLS}, sync_sides)
