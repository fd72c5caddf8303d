"""A crowd around something scarce: any number of agents, from 2 to 8, that act at the same time."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "philosophers_v0",
    "llmzoo.envs.crowd.philosophers:env",
    family="crowd",
    agents=("philosopher_0", "philosopher_1", "philosopher_2"),
    summary="Dining philosophers: take forks at the same time, and eat before the dinner ends or deadlocks.",
    terse={"prompt": "terse"},
)
register(
    "commons_v0",
    "llmzoo.envs.crowd.commons:env",
    family="crowd",
    agents=("fisher_0", "fisher_1", "fisher_2"),
    summary="A pond of fish that grows again: harvest at the same time, and leave enough for later.",
    terse={"prompt": "terse"},
)
