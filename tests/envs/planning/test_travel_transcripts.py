"""Golden transcripts: every word that travel_v0 says in fixed episodes.

First the agents err, then the experts play. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/planning``.
"""

from __future__ import annotations

import golden

import llmzoo

EPISODES = {
    "two rounds of messages": ({"level": "easy", "rounds": 2}, ["", "x" * 401]),
    "terse": ({"prompt": "terse"}, ["Any city will do.", ""]),
    "halves that cannot be read": (
        {"level": "easy", "rounds": 0},
        ["day 1: city: here; transport: -; stay: -", "Let us eat."],
    ),
    "one agent": ({"level": "easy", "num_agents": 1}, []),
    "a record": ({"source": "sample"}, []),
}


def test_transcripts():
    said = []
    for name, (kwargs, answers) in EPISODES.items():
        env = llmzoo.make("travel_v0", split="test", **kwargs)
        env.reset(options={"task": 0})
        said += [f"##### travel, {name}\n{golden.played(env, answers)}\n"]
    golden.check("travel", "\n".join(said))
