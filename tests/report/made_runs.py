"""Run folders made up for tests: the files that training writes, with numbers that a test chooses."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llmzoo.evaluation.statistics import wilson_interval

CONFIG = {
    "env": "sudoku_v0",
    "env_args": {"max_turns": 2},
    "learner": "at_grpo",
    "learner_args": {"group_size": 4},
    "model": "tiny",
    "steps": 20,
    "seed": 0,
}
AGENTS = ("proposer_0", "planner_1")
PROMPT = "sudoku proposer 1/4\n2.41\n41..\n1.34\n3...\nanswer\n"


def evaluation(step: int, solved: int, tasks: int = 100) -> dict[str, Any]:
    return {
        "kind": "eval",
        "step": step,
        "env": "sudoku_v0",
        "policy": "tiny",
        "split": "test",
        "tasks": tasks,
        "success": solved / tasks,
        "success_ci95": list(wilson_interval(solved, tasks)),
        "tokens": 2000,
        "seconds": 1.5,
        "greedy": {"success": solved / tasks, "success_ci95": list(wilson_interval(solved, tasks))},
    }


def iteration(step: int, success: float, **more: Any) -> dict[str, Any]:
    parts = {"format": 0.1, "legal": 0.1 * success, "quality": 0.8 * success}
    return {
        "kind": "train",
        "step": step,
        "success": success,
        "return": dict.fromkeys(AGENTS, 1 + success),
        "agents": {agent: {"reward_components": parts, "invalid": 0.2} for agent in AGENTS},
        "loss": -0.001 * success,
        "entropy": 0.4 - 0.2 * success,
        "grad_norm": 0.2,
        "truncated": 0.0,
        "tokens": 1000,
        "rollout_seconds": 3.0,
        "sampling_seconds": 2.0,
        "stepping_seconds": 1.0,
        "update_seconds": 1.0,
        **more,
    }


def answer(text: str, returned: float | None, **more: Any) -> dict[str, Any]:
    return {
        "text": text,
        "return": returned,
        "advantage": None if returned is None else returned - 0.5,
        "tokens": 20,
        "truncated": False,
        "error": None,
        "reward_components": {"format": 0.1},
        "reply": None,
        **more,
    }


def episode(step: int, seed: int, success: float = 1.0, **more: Any) -> dict[str, Any]:
    """An episode of two turns, one of each agent."""
    returns = {"proposer_0": 1.0 + success, "planner_1": 1.0}
    return {
        "step": step,
        "seed": seed,
        "success": success,
        "returns": returns,
        "endings": [{"success": success == 1.0, "totals": returns, "decisions": 2}],
        "turns": [
            {
                "agent": agent,
                "turn": 0,
                "path": [number],
                "prompt": PROMPT,
                "answers": [answer("2341\n4123", 0.2), answer("2341\n4132", 0.9)],
            }
            for number, agent in enumerate(AGENTS)
        ],
        **more,
    }


def make(
    folder: Path,
    rows: Iterable[Mapping[str, Any]] = (),
    played: Iterable[Mapping[str, Any]] | None = None,
    *,
    ended: bool = True,
    **config: Any,
) -> Path:
    """Write a run folder; returns it. Without ``played`` there is no ``played.jsonl``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "before.json").write_text(json.dumps(evaluation(0, 30)))
    if played is not None:
        with (folder / "played.jsonl").open("w") as file:
            file.writelines(json.dumps(one) + "\n" for one in played)
    if ended:
        (folder / "after.json").write_text(json.dumps(evaluation(20, 80)))
    return folder


def learning(steps: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of a run that learns, with noise and evaluations."""
    noise = random.Random(seed)
    rows: list[dict[str, Any]] = [evaluation(0, 30)]
    for step in range(1, steps + 1):
        success = 0.3 + 0.5 * step / steps + noise.uniform(-0.15, 0.15)
        rows.append(iteration(step, success, entropy=0.4 - 0.3 * step / steps))
    rows.append(evaluation(steps, 80))
    return rows


def many_episodes(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Different ones, about 12,000 characters each: four turns with four answers of some length."""
    noise = random.Random(seed)
    words = [f"word{number}" for number in range(3000)]
    result = []
    for number in range(count):
        turns = []
        for turn in range(4):
            answers = [
                answer(
                    " ".join(noise.choices(words, k=60)),
                    round(noise.random(), 3),
                    error="no legal move" if noise.random() < 0.05 else None,
                    truncated=noise.random() < 0.05,
                    reply=f"reply {number}.{turn}",
                )
                for _ in range(4)
            ]
            prompt = PROMPT + " ".join(noise.choices(words, k=80)) + f" needle{number:05d}"
            turns.append(
                {
                    "agent": AGENTS[turn % 2],
                    "turn": turn // 2,
                    "path": [0] * turn,
                    "prompt": prompt,
                    "answers": answers,
                }
            )
        success = noise.choice([0.0, 0.5, 1.0])
        result.append(episode(1 + number // 50, 1000 + number, success, turns=turns))
    return result
