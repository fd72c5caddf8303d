"""Crowd: tasks for several agents whose number is a setting, or changes during an episode."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "delegate_v0",
    "llmzoo.envs.crowd.delegate.env:env",
    family="crowd",
    agents=("lead_0", "worker_1", "worker_2", "worker_3"),
    summary="A lead brings in workers, each of whom reads one document, and answers from their reports.",
    terse={"prompt": "terse"},
)
