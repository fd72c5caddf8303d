"""Environment steps per second of games, planning, building, signals and telecom, in their AEC form.

    python examples/benchmark/environment_steps.py

An episode is played through ``last()`` and ``step()`` with the expert's answers, which were written
down beforehand, so that the environment alone is timed: prompts, parsing, scoring and rewards.
Resets and the closing ``step(None)`` take their time too but are not counted as steps; an expert's
episode of a game is two steps long, so there is a reset for every two. Tasks are numbered ones that exist
already; making them is timed by level_generation.py. ``raw`` is without PettingZoo's wrapper that
checks the order of calls; the two take turns, and medians are reported.
"""

from __future__ import annotations

from collections.abc import Callable

from pettingzoo import AECEnv
from timing import Row, alternating, row

import llmzoo


def _name(id: str) -> str:
    return id.removesuffix("_v0")


GAMES = ("sudoku", "sokoban", "plan_path", "calendar", "travel", "signal", "relay", "telecom")
GAMES += tuple(map(_name, llmzoo.list_envs("building")))
TASKS = 100


def compare(repeats: int = 42) -> list[Row]:
    rows = []
    for game in GAMES:
        settings = llmzoo.spec(f"{game}_v0").offline
        made = llmzoo.make(f"{game}_v0", **settings)
        raw = type(made.unwrapped)(**settings)
        answers = [expert_answers(made, task) for task in range(TASKS)]
        played = [player(env, answers) for env in (raw, made)]
        for form, found in zip(("raw", "make"), alternating(played, repeats), strict=True):
            rows.append(row(f"steps_{game}_{form}", found, "steps/s, resets included"))
    return rows


def expert_answers(env: AECEnv, task: int) -> list[str]:
    expert = llmzoo.scripted_expert(env)
    env.reset(seed=task, options={"task": task})
    answers = []
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
        else:
            answers.append(expert(observation, agent))
            env.step(answers[-1])
    return answers


def player(env: AECEnv, answers: list[list[str]]) -> Callable[[], int]:
    def play() -> int:
        steps = 0
        for task, script in enumerate(answers):
            env.reset(seed=task, options={"task": task})
            lines = iter(script)
            for _ in env.agent_iter():
                _, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                else:
                    env.step(next(lines))
                    steps += 1
        return steps

    return play


if __name__ == "__main__":
    for found in compare():
        print(f"{found['name']:<24}{found['ours']:>10,.0f} {found['unit']}")
