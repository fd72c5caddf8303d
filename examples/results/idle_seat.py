"""A task in which one of two answers often does not matter, made to compare credit rules on.

Two agents act at the same time. Each sees a letter and writes the letter that a table of its own gives for
it. The first agent's answer always counts. The second agent's counts in a share of the tasks only, and its
prompt says whether. The team is paid 1 if all answers that count are right. So in most tasks the second
agent is paid for what the first one wrote.

There is one table to learn for each agent, so train and test do not differ.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from llmzoo.envs.base import Outcome, TextEnv

SEEN, WRITTEN = "ABCDEFGH", "stuvwxyz"
TABLES = {"first_0": (3, 6, 0, 5, 2, 7, 1, 4), "second_1": (5, 2, 7, 1, 4, 0, 6, 3)}


@dataclass(frozen=True, slots=True)
class Letters:
    """What each agent sees, and the agents whose answers count."""

    seen: Mapping[str, int]
    counting: tuple[str, ...]


def draw(rng: random.Random, share: float) -> Letters:
    """``share``: how often the second agent's answer counts."""
    first, second = TABLES
    seen = {agent: rng.randrange(len(SEEN)) for agent in TABLES}
    return Letters(seen, (first, second) if rng.random() < share else (first,))


class IdleSeat(TextEnv):
    """``share``: of the tasks in which the second agent's answer counts."""

    metadata: ClassVar[dict[str, Any]] = {
        **TextEnv.metadata,
        "name": "idle_seat_v0",
        "team_and_local": False,
    }

    def __init__(self, *, share: float = 0.2, split: str = "train", render_mode: str | None = None):
        super().__init__(list(TABLES), simultaneous=True, render_mode=render_mode)
        self.share, self.split = share, split

    def reset_task(self, rng: random.Random, task: int | str | None) -> Letters:
        if task is not None:
            rng = random.Random(f"idle_seat/{self.split}/{task}")
        return draw(rng, self.share)

    def task_info(self) -> Mapping[str, Any]:
        told = tuple(self.episode.seen.values()), len(self.episode.counting)
        return {"source": "rules", "split": self.split, "tasks": None, "task_id": str(told)}

    def observation(self, state: Letters, agent: str) -> str:
        role = "counts" if agent in state.counting else "idle"
        return f"{agent[-1]} {SEEN[state.seen[agent]]} {role}\n"

    def expert(self, agent: str) -> str:
        return WRITTEN[TABLES[agent][self.episode.seen[agent]]]

    def apply(self, state: Letters, actions: Mapping[str, str]) -> tuple[Letters, Outcome]:
        right = all(actions[a].strip() == self.expert(a) for a in state.counting)
        return state, Outcome(team=float(right), done=True, success=right)
