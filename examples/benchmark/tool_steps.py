"""Environment steps per second of tool_use_v0, with the tools that run in this process.

    python examples/benchmark/tool_steps.py

An episode is played through ``last()`` and ``step()`` with the expert's answers, which were written
down beforehand: calls of the calculator, of the file tools and of the search, and the final answer.
Resets and the closing ``step(None)`` take their time too but are not counted as steps. With two agents
every other step is the planner's, which calls nothing. Programs in the sandbox are left out; sandbox.py
times those.
"""

from __future__ import annotations

from collections.abc import Callable

from pettingzoo import AECEnv
from timing import Row, alternating, row

import llmzoo

TOOLS = ("calculator", "files", "search")
AGENTS = {"alone": 1, "planner_executor": 2}
TASKS = 100


def compare(repeats: int = 14) -> list[Row]:
    works = [_player(agents) for agents in AGENTS.values()]
    return [
        row(f"tool_steps_{name}", found, "steps/s, resets included")
        for name, found in zip(AGENTS, alternating(works, repeats), strict=True)
    ]


def _player(agents: int) -> Callable[[], int]:
    """Plays all tasks; returns how many steps that took."""
    env = llmzoo.make("tool_use_v0", tools=TOOLS, num_agents=agents)
    scripts: list[list[str]] = []
    for task in range(TASKS):
        script: list[str] = []
        _play(env, task, lambda agent, script=script: _written(env, agent, script))
        scripts.append(script)

    def play() -> int:
        for task, script in enumerate(scripts):
            lines = iter(script)
            _play(env, task, lambda agent, lines=lines: next(lines))
        return sum(map(len, scripts))

    return play


def _play(env: AECEnv, task: int, answer: Callable[[str], str]) -> None:
    env.reset(seed=task, options={"task": task})
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else answer(agent))


def _written(env: AECEnv, agent: str, script: list[str]) -> str:
    script.append(env.unwrapped.expert(agent))
    return script[-1]


if __name__ == "__main__":
    for found in compare():
        print(f"{found['name']:<32}{found['ours']:>10,.0f} {found['unit']}")
