"""Debate: two sides argue before a judge."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "debate_v0",
    "llmzoo.envs.debate.env:env",
    family="debate",
    agents=("pro_0", "con_1"),
    summary="Two sides argue a motion from briefs of their own; a judge scores what they say.",
)
