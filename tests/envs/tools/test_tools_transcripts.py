"""Golden transcripts: every word that the tool environments say in a fixed episode.

First the seats err, then the expert plays. Written anew as those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/tools``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import llmzoo

FOLDER = Path(__file__).resolve().parents[2] / "transcripts"

EPISODES = {
    "tool_use_v0": (
        {"family": "difference", "tools": ("calculator", "search")},
        [
            "Let us look around.",
            '<tool_call>{"name": "lookup", "arguments": {"query": "anything"}}</tool_call>',
            "Search for it.",
            '<tool_call>{"name": "search", "arguments": {"query": "any',
        ],
    ),
    "bfcl_v0": (
        {"source": "sample", "category": "parallel", "max_turns": 2},
        ["I would rather not.", "[no_such_function(a=1)]"],
    ),
}


@pytest.mark.parametrize("id", EPISODES)
def test_transcript(id):
    kwargs, answers = EPISODES[id]
    answers = list(answers)
    env = llmzoo.make(id, split="test", **kwargs)
    env.reset(options={"task": 0})
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
    path = FOLDER / f"{id.removesuffix('_v0')}.txt"
    if os.environ.get("LLMZOO_WRITE_TRANSCRIPTS"):
        path.write_text(text)
    assert text == path.read_text()
