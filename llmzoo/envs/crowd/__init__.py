"""Crowds: up to nine agents, whose number is a setting or changes during an episode."""

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
register(
    "hidden_profile_v0",
    "llmzoo.envs.crowd.hidden_profile.env:env",
    family="crowd",
    agents=("member_0", "member_1", "member_2", "member_3"),
    summary="A group chooses the best of several places; what all know favours a wrong one.",
    terse={"prompt": "terse"},
)
register(
    "mafia_v0",
    "llmzoo.envs.crowd.mafia.env:env",
    family="crowd",
    agents=("mafia_0", "detective_1", "villager_2", "villager_3", "villager_4", "villager_5"),
    summary="Hidden roles: the mafia kills by night, and the village votes by day on whom to remove.",
    terse={"prompt": "terse"},
)
register(
    "delegate_v0",
    "llmzoo.envs.crowd.delegate.env:env",
    family="crowd",
    agents=("lead_0", "worker_1", "worker_2", "worker_3"),
    summary="A lead brings in workers, each of whom reads one document, and answers from their reports.",
    terse={"prompt": "terse"},
)
