"""Golden transcript: every word that the mathematics environment says in fixed episodes.

The amateurs answer first, the experts afterwards. Written anew as those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/math``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import llmzoo

PATH = Path(__file__).resolve().parents[2] / "transcripts" / "math.txt"
FORMS = (
    {"family": "arithmetic", "level": "easy", "prompt": "terse"},
    {"family": "word_problems", "level": "medium"},
    {"family": "algebra", "level": "medium", "num_agents": 1},
    {"family": "counting", "level": "hard", "reasoners": 2, "aggregator": True},
)
FIRST = {  # what a seat answers in the first round
    "reasoner": "\\boxed{7}",
    "tool": "print(1 // 0)",
    "aggregator": "I would rather not.",
}


def transcript(**kwargs):
    env = llmzoo.make("math_v0", split="test", **kwargs)
    env.reset(options={"task": 0})
    lines = [f"##### math_v0 {json.dumps(kwargs)}"]
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        parts = {name: round(value, 6) for name, value in info["reward_parts"].items()}
        lines += [f"=== {agent}: reward {round(reward, 6)} {json.dumps(parts)}"]
        if info["error"]:
            lines += [f"=== {agent}: error {info['error']}"]
        if terminated or truncated:
            lines += [f"=== {agent}: the end, success {info['success']}"]
            env.step(None)
            continue
        first = FIRST[agent.rpartition("_")[0]]
        answer = first if env.unwrapped.turn == 0 else env.unwrapped.expert(agent)
        lines += [observation, f"=== {agent} answers", answer]
        env.step(answer)
    return "\n".join(lines)


def test_transcript():
    text = "\n\n".join(transcript(**form) for form in FORMS) + "\n"
    if os.environ.get("LLMZOO_WRITE_TRANSCRIPTS"):
        PATH.write_text(text)
    assert text == PATH.read_text()
