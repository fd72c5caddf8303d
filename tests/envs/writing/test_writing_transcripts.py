"""Golden transcripts: every word that the writing environments say in a fixed episode.

In the first round the seats answer nonsense and an extract, in the second the expert plays. Written
anew as those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/writing``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import llmzoo

FOLDER = Path(__file__).resolve().parents[2] / "transcripts"

NONSENSE = "I would rather write about the weather, because it is the same everywhere, is it not?"


@pytest.mark.parametrize("id", ["tldr_v0", "arxiv_v0", "story_v0"])
def test_transcript(id):
    env = llmzoo.make(id, split="test", max_turns=2, source="sample")
    env.reset(options={"task": 0})
    text = env.unwrapped.episode.task.text
    extract = " ".join(text.split()[:40])
    answers = {"tldr_v0": [NONSENSE, extract], "arxiv_v0": [text, text], "story_v0": [text, ""]}[id]
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
    said = "\n".join(lines) + "\n"
    path = FOLDER / f"{id.removesuffix('_v0')}.txt"
    if os.environ.get("LLMZOO_WRITE_TRANSCRIPTS"):
        path.write_text(said)
    assert said == path.read_text()
