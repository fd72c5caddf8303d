"""Self-play of a proposer and a solver: one agent sets a puzzle, the other solves it."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "propose_v0",
    "llmzoo.envs.proposing.env:env",
    family="proposing",
    agents=("proposer_0", "solver_1"),
    summary="Set a sum or a number puzzle that is neither too easy nor too hard; the other agent solves it.",
    terse={"prompt": "terse"},
)
