"""Tools: a model calls them and reads what they return."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "tool_use_v0",
    "llmzoo.envs.tools.tool_use:env",
    family="tools",
    agents=("planner_0", "executor_1"),
    summary="Questions that need tools: a planner says which and why, an executor calls them.",
    extra="tools",
)
register(
    "bfcl_v0",
    "llmzoo.envs.tools.bfcl:env",
    family="tools",
    agents=("caller_0", "caller_1"),
    summary="Function calling on BFCL's schema: two callers divide the calls of a request.",
    offline={"source": "sample"},
)
