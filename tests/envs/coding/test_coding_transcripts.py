"""Golden transcripts: every word that the coding environments say in a fixed episode.

In the first round the seats answer nonsense and a wrong program, in the second the expert plays.
Written anew as those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/coding``.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import llmzoo

FOLDER = Path(__file__).resolve().parents[2] / "transcripts"

NONSENSE = "I would rather not."
WRONG = {
    "coop_functions_v0": "```python\ndef {name}(*args):\n    return 0\n```",
    "classeval_v0": "def __init__(self, *args):\n    pass",
    "contests_v0": 'print("nothing")',
    "bug_fix_v0": '{"function": "f", "line": 1, "reason": "a guess"}',
}


@pytest.mark.parametrize("id", WRONG)
def test_transcript(id, monkeypatch):
    kwargs = {"source": "sample"} if id == "classeval_v0" else {}
    env = llmzoo.make(id, split="test", max_turns=2, **kwargs)
    env.reset(options={"task": 0})
    last = env.possible_agents[-1]
    entry = re.search(r"Write the function (\w+)", env.observe(last))
    wrong = WRONG[id].replace("{name}", entry[1] if entry else "")
    answers = [wrong, NONSENSE] if id == "bug_fix_v0" else [NONSENSE, wrong]
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
