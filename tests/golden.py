"""Golden transcripts: every word that an environment says in a fixed episode, held against a file.

After a change that is meant, rewrite them and read the difference:

    LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs -k transcript && git diff tests/transcripts
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pettingzoo import AECEnv

FOLDER = Path(__file__).parent / "transcripts"


def played(env: AECEnv, answers: Iterable[str]) -> str:
    """What each agent of an episode at its start reads, answers and is paid, and how it ends. Where
    there are no more ``answers`` the expert plays."""
    left = iter(answers)
    lines = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        lines += [paid(agent, reward, info["reward_components"])]
        if info["error"]:
            lines += [f"=== {agent}: error {info['error']}"]
        if terminated or truncated:
            lines += [f"=== {agent}: the end, success {info['success']}"]
            env.step(None)
            continue
        answer = next(left, None)
        if answer is None:
            answer = env.unwrapped.expert(agent)
        lines += [observation, f"=== {agent} answers", answer]
        env.step(answer)
    return "\n".join(lines)


def paid(agent: str, reward: float, parts: dict[str, float]) -> str:
    rounded = {name: round(value, 6) for name, value in parts.items()}
    return f"=== {agent}: reward {round(reward, 6)} {json.dumps(rounded)}"


def check(name: str, text: str) -> None:
    """``text`` is what ``transcripts/NAME.txt`` holds; it is written there where that is asked for."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("LLMZOO_WRITE_TRANSCRIPTS"):
        path.write_text(text)
    assert text == path.read_text()
