"""Golden transcripts: every word that the building environments say in fixed episodes.

First the agents err, then the experts play. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/building``.
"""

from __future__ import annotations

import golden
import pytest

import llmzoo

EPISODES = {
    "str_build": {
        "a slip each": ({"level": "easy"}, ["fill 0 0 0 4 0 0 wood", "setblock 0 0 0 wood\nhello"]),
        "terse": ({"level": "easy", "prompt": "terse"}, ["", "fill 0 0 0 99 0 0 stone"]),
        "one agent": ({"level": "easy", "num_agents": 1}, ["pass"]),
    },
    "house_build": {
        "too many blocks": ({"level": "easy"}, ["fill 0 0 0 2 0 2 wood", "fill 0 0 0 2 2 2 glass"]),
        "terse": ({"level": "easy", "prompt": "terse"}, ["setblock 1 1 1 wood", "pass"]),
        "one agent": ({"level": "easy", "num_agents": 1}, ["pass"]),
    },
    "bridge_build": {
        "a useless message, and blocks out of reach": (
            {"level": "easy"},
            ["say hello", "", "fill 0 4 0 13 4 0 wood", "say my bank is lower"],
        ),
        "terse": ({"level": "easy", "prompt": "terse"}, ["setblock 6 5 0 wood", "pass"]),
        "one agent": ({"level": "easy", "num_agents": 1}, ["pass"]),
    },
    "resource_gathering": {
        "a walk too far": ({"level": "easy"}, ["go 6 6\ntake 0 0", "say I see something"]),
        "terse": ({"level": "easy", "prompt": "terse"}, []),
        "one agent": ({"level": "easy", "num_agents": 1}, ["go 1 1"]),
    },
}


@pytest.mark.parametrize("name", EPISODES)
def test_transcripts(name):
    said = []
    for title, (kwargs, answers) in EPISODES[name].items():
        env = llmzoo.make(f"{name}_v0", split="test", **kwargs)
        env.reset(options={"task": 0})
        said += [f"##### {name}, {title}\n{golden.played(env, answers)}\n"]
    golden.check(name, "\n".join(said))
