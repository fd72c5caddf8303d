"""Golden transcript: every word that the debate says in a fixed episode.

A silent opening and one that rambles, then the expert plays. Written anew as those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/debate``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import llmzoo
from llmzoo.envs.debate.topics import shipped

FOLDER = Path(__file__).resolve().parents[2] / "transcripts"


def test_transcript():
    env = llmzoo.make("debate_v0", split="all", max_turns=2, judge_seat=True)
    place = [topic.id for topic in shipped()].index("wolves-return")
    env.reset(options={"task": place})
    answers = ["", "I oppose the motion, and that is all.", "Both were weak."]
    lines = []
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
        answer = answers.pop(0) if answers else env.unwrapped.expert(agent)
        lines += [observation, f"=== {agent} answers", answer]
        env.step(answer)
    text = "\n".join(lines) + "\n"
    path = FOLDER / "debate.txt"
    if os.environ.get("LLMZOO_WRITE_TRANSCRIPTS"):
        path.write_text(text)
    assert text == path.read_text()
