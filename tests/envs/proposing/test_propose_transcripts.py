"""Golden transcripts: every word of propose_v0 in fixed episodes.

Rewritten like those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/proposing``.
"""

from __future__ import annotations

import golden

import llmzoo

EPISODES = {
    "the experts": ({}, []),
    "a proposal that is refused": ({}, ["The answer is 12:\n1 + 1"]),
    "a proposal that cannot be read": ({"difficulty": "r_zero"}, ["a hard one"]),
    "some answers are wrong": ({"attempts": 3}, [None, "Answer: 7", "I do not know"]),
    "countdown": ({"kind": "countdown", "difficulty": "pairs", "earlier": 2}, [None, "1 + 1"]),
    "terse": ({"prompt": "terse"}, [None, "0"]),
    "terse countdown": ({"kind": "countdown", "prompt": "terse", "attempts": 2}, []),
    "one agent": ({"num_agents": 1}, []),
    "one agent, terse countdown": ({"num_agents": 1, "kind": "countdown", "prompt": "terse"}, []),
}


def test_transcripts():
    said = []
    for episode, (kwargs, answers) in EPISODES.items():
        env = llmzoo.make("propose_v0", split="test", **kwargs)
        env.reset(options={"task": 0}, seed=0)
        said += [f"##### propose, {episode}\n{golden.played(env, answers)}\n"]
    golden.check("propose", "\n".join(said))
