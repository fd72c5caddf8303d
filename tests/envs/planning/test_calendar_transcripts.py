"""Golden transcripts: every word that calendar_v0 says in fixed episodes.

First the agents err, then the experts play. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/planning``.
"""

from __future__ import annotations

import golden

import llmzoo

EPISODES = {
    "two rounds of messages": ({"level": "hard", "rounds": 2}, ["", "x" * 401]),
    "terse": ({"level": "hard", "prompt": "terse"}, ["Mon 9-12", ""]),
    "three people, wrong proposals": (
        {"people": 3, "level": "easy"},
        [
            "hello",
            "Any time suits.",
            "hm",
            "Monday, 9:00 - 9:15",
            "Mon 9-10 or Mon 10-11",
            "Sunday",
        ],
    ),
    "one agent": ({"num_agents": 1}, []),
    "a record that asks for the earliest time": ({"source": "sample"}, []),
}


def test_transcripts():
    said = []
    for name, (kwargs, answers) in EPISODES.items():
        env = llmzoo.make("calendar_v0", split="test", **kwargs)
        env.reset(options={"task": 3 if "source" in kwargs else 0})
        said += [f"##### calendar, {name}\n{golden.played(env, answers)}\n"]
    golden.check("calendar", "\n".join(said))
