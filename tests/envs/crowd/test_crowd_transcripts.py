"""Golden transcripts: every word that the environments of a crowd say in fixed episodes.

First the agents err, then the experts play. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/crowd``.
"""

from __future__ import annotations

import golden
import pytest

import llmzoo

EPISODES = {
    "philosophers": {
        "an empty answer": ({"slack": 0}, ["left", "left", ""]),
        "messages": (
            {"num_agents": 2, "message_chars": 20, "slack": 0},
            ["wait\nsay I eat first", "say this is too long to be delivered"],
        ),
        "terse": ({"num_agents": 2, "prompt": "terse"}, ["left or right", "right"]),
        "one agent": (
            {"num_agents": 1, "philosophers": 2},
            ["philosopher_0: left\nphilosopher_1: sing"],
        ),
    },
    "commons": {
        "too many and too much": ({"num_agents": 2}, ["9999", "2 or 3", "1", "0"]),
        "messages": ({"message_chars": 20}, ["2\nsay two each", "2\nsay", "2"]),
        "terse": ({"num_agents": 2, "prompt": "terse"}, ["1", "-1"]),
        "selfish": ({"num_agents": 2, "reward": "selfish"}, ["1", "4"]),
        "one agent": ({"num_agents": 1, "fishers": 2}, ["fisher_0: 2", "2"]),
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
