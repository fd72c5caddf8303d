"""Signals: who must say what the other sees. The smallest tasks in which communication is all."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "relay_v0",
    "llmzoo.envs.signals.relay:env",
    family="signals",
    agents=("first_0", "middle_1", "last_2"),
    summary="Pass a secret along a chain: each agent changes it by a table that it alone reads.",
    terse={"prompt": "terse"},
)
register(
    "signal_v0",
    "llmzoo.envs.signals.signal:env",
    family="signals",
    agents=("speaker_0", "listener_1"),
    summary="A signalling game: one agent sees the target and writes letters, the other names the target.",
    terse={"prompt": "terse"},
)
