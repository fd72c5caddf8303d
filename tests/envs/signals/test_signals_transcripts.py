"""Golden transcripts: every word that the environments of the family say in fixed episodes.

First the agents err, then the experts play. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/signals``.
"""

from __future__ import annotations

import golden
import pytest

import llmzoo

EPISODES = {
    "signal": {
        "the experts": ({}, []),
        "a message that is not delivered": ({}, ["blue triangle", "red or blue"]),
        "a wrong answer": ({"attributes": 3, "candidates": 3}, ["ABC", "red circle one"]),
        "terse": ({"prompt": "terse"}, ["21"]),
        "terse, not delivered": ({"prompt": "terse"}, ["99", "1"]),
        "one agent": ({"num_agents": 1}, []),
    },
    "relay": {
        "the experts": ({}, []),
        "a message that is not delivered": ({}, ["AB", "hello", "12"]),
        "five agents": ({"num_agents": 5, "length": 1}, []),
        "terse": ({"prompt": "terse"}, ["11", "", "the answer"]),
        "one agent": ({"num_agents": 1}, []),
        "one agent, terse": ({"num_agents": 1, "prompt": "terse"}, []),
    },
}


@pytest.mark.parametrize("name", EPISODES)
def test_transcripts(name):
    said = []
    for episode, (kwargs, answers) in EPISODES[name].items():
        env = llmzoo.make(f"{name}_v0", split="test", **kwargs)
        env.reset(options={"task": 0}, seed=0)
        said += [f"##### {name}, {episode}\n{golden.played(env, answers)}\n"]
    golden.check(name, "\n".join(said))
