"""How often an agent alone solves a task that needs two: the table of docs/split_views.md.

Both agents of the split view are played by their scripted experts, then one expert beside an agent that writes
"-". Each form plays the same test tasks.

    python docs/lone_agents.py --tasks 500
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import llmzoo
from llmzoo.envs.base import TextEnv
from llmzoo.evaluation.statistics import wilson_interval

TASKS = 500
SILENT = "-"
FORMS: list[tuple[str, dict]] = [
    ("sudoku_v0", {}),
    ("sudoku_v0", {"max_turns": 1}),
    ("sudoku_v0", {"size": 9}),
    ("plan_path_v0", {}),
    ("sokoban_v0", {}),
    *(
        ("math_v0", {"family": "word_problems", "level": level})
        for level in ("easy", "medium", "hard")
    ),
    ("bug_fix_v0", {}),
    ("bug_fix_v0", {"max_turns": 1}),
    ("contests_v0", {}),
    ("contests_v0", {"split": "all"}),
]


def solved(id: str, form: dict, task: int, silent: str | None) -> bool:
    """Whether the experts solve a test task; the agent ``silent`` says nothing of use."""
    env = _made(id, form)
    env.reset(options={"task": task})
    for agent in env.agent_iter():
        over = env.terminations[agent] or env.truncations[agent]
        env.step(None if over else SILENT if agent == silent else env.expert(agent))
    return env.success


def _made(id: str, form: dict) -> TextEnv:
    return llmzoo.make(id, **{"view": "split", "split": "test", **form}).unwrapped


def rows(tasks: int) -> Iterator[str]:
    """The rows of the table."""
    for id, form in FORMS:
        env = _made(id, form)
        played = min(tasks, env.tasks.count or tasks)
        counts = [
            sum(solved(id, form, task, silent) for task in range(played))
            for silent in (None, *reversed(env.possible_agents))
        ]
        named = "".join(f", `{name}={value}`" for name, value in form.items())
        cells = [f"`{id}`{named}", f"{counts[0]} of {played}"]
        for count in counts[1:]:
            low, high = wilson_interval(count, played)
            cells.append(f"{count / played:.1%} [{low:.1%}, {high:.1%}]")
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=TASKS, help="test tasks of each form")
    args = parser.parse_args()
    print(
        "| task | both agents | the first agent alone | the second agent alone |\n|---|---|---|---|"
    )
    for row in rows(args.tasks):
        print(row, flush=True)


if __name__ == "__main__":
    main()
