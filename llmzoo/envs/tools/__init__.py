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
register(
    "bfcl_multi_turn_v0",
    "llmzoo.envs.tools.bfcl_multi_turn:env",
    family="tools",
    agents=("planner_0", "caller_1"),
    summary="BFCL's dialogues with stateful APIs: a planner says what to call, a caller writes the calls.",
    offline={"source": "sample"},
)
register(
    "telecom_v0",
    "llmzoo.envs.tools.telecom:env",
    family="tools",
    agents=("agent_0", "user_1"),
    summary="A service agent and a customer with tools for two sides of one world: records and a phone.",
    terse={"prompt": "terse"},
    offline={"source": "generator"},  # which is the default
)
register(
    "airline_v0",
    "llmzoo.envs.tools.airline:env",
    family="tools",
    agents=("agent_0", "user_1"),
    summary="A service agent with an airline's records and policy, and a customer who may want what is forbidden.",
    terse={"prompt": "terse"},
    offline={"source": "generator"},  # which is the default
)
