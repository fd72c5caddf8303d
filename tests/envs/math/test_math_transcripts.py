"""Golden transcript: every word that the mathematics environment says in fixed episodes.

The noisy experts answer first, the experts afterwards. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/math``.
"""

from __future__ import annotations

import json

import golden

import llmzoo

FORMS = (
    {"family": "arithmetic", "level": "easy", "prompt": "terse"},
    {"family": "word_problems", "level": "medium"},
    {"family": "algebra", "level": "medium", "num_agents": 1},
    {"family": "algebra", "level": "hard", "reasoners": 2, "aggregator": True},
)
FIRST = {  # what an agent answers in the first round
    "reasoner": "\\boxed{7}",
    "tool": "print(1 // 0)",
    "aggregator": "I would rather not.",
}


def transcript(**kwargs):
    env = llmzoo.make("math_v0", split="test", **kwargs)
    env.reset(options={"task": 0})
    answers = [FIRST[agent.rpartition("_")[0]] for agent in env.agents]
    return f"##### math_v0 {json.dumps(kwargs)}\n{golden.played(env, answers)}"


def test_transcript():
    golden.check("math", "\n\n".join(transcript(**form) for form in FORMS) + "\n")
