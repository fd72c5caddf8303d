"""The questions of docs/results/several.md, and the comparisons that answer them.

A question compares two arms on every task that has both, with the seeds that both have. On one task the units
are the held-out tasks, with all seeds of one in a cluster. Over all tasks the units are pairs of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logs import Row
from readings import by_task, marks, of_arm

from llmzoo.evaluation.statistics import sign_flip_test

INFORMED = ("sudoku", "plan_path", "sokoban", "calendar", "signal")  # what is seen is split
EQUIPPED = ("sums", "equations")  # one of two agents has the tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``pairs``: arms of which a task has one pair at most; the first is compared with the second."""

    name: str
    text: str
    pairs: Sequence[tuple[str, str]]
    tasks: Sequence[str] = ()  # none: all that have the arms


QUESTIONS = (
    Question(
        name="agents",
        text="a second agent that knows nothing more, against one agent with the same number of completions",
        pairs=[("two", "one_more")],
    ),
    Question(
        name="answers",
        text="the same, against one agent with one completion",
        pairs=[("two", "one")],
    ),
    Question(
        name="commits",
        text="the same in two rounds, against one agent in two rounds, so that both commit twice",
        pairs=[("two_more", "one_more")],
    ),
    Question(
        name="information",
        text="a second agent that sees the other half, against an agent alone with its half",
        pairs=[("split", "lone")],
        tasks=INFORMED,
    ),
    Question(
        name="tools",
        text="a second agent that has the tool, against an agent alone without it",
        pairs=[("split", "lone")],
        tasks=EQUIPPED,
    ),
    Question(
        name="whole",
        text="two agents of which each lacks something, against one agent that has all and one completion",
        pairs=[("split", "one")],
    ),
    Question(
        name="weights",
        text="a model for each agent, against one for both",
        pairs=[("split_separate", "split"), ("two_separate", "two")],
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two arms of a task. ``clusters``: for each distinct held-out task, each time that it was played: 1 if only
    the first solved it, -1 if only the second did, and 0. ``counts``: their sum for each seed."""

    task: str
    first: Sequence[Row]
    second: Sequence[Row]
    clusters: Sequence[Sequence[int]]
    counts: Sequence[int]

    @property
    def shares(self) -> list[float]:
        """For each seed the difference of the success rates."""
        played = sum(map(len, self.clusters)) / len(self.counts)
        return [count / played for count in self.counts]

    @property
    def p_value(self) -> float:
        return sign_flip_test([sum(cluster) for cluster in self.clusters]).p_value


def compared(rows: Sequence[Row], question: Question) -> list[Compared]:
    """The question's comparison on each task that has runs of both arms with the same seeds."""
    found = []
    for task, mine in by_task(rows).items():
        for first, second in question.pairs:
            if question.tasks and task not in question.tasks:
                continue
            both = [{row["seed"]: row for row in of_arm(mine, arm)} for arm in (first, second)]
            seeds = sorted(both[0].keys() & both[1].keys())
            if seeds:
                found.append(_compared(task, *([of[seed] for seed in seeds] for of in both)))
    return found


def _compared(task: str, first: Sequence[Row], second: Sequence[Row]) -> Compared:
    ids = first[0]["after"]["ids"]
    if any(row["after"]["ids"] != ids for row in (*first, *second)):
        raise ValueError(f"{task}: runs that are compared have been measured on different tasks")
    by_seed = [
        [a - b for a, b in zip(one, other, strict=True)]
        for one, other in zip(marks(first), marks(second), strict=True)
    ]
    clusters: dict[str, list[int]] = {}
    for id, *differences in zip(ids, *by_seed, strict=True):
        clusters.setdefault(id, []).extend(differences)
    return Compared(
        task=task,
        first=first,
        second=second,
        clusters=list(clusters.values()),
        counts=[sum(of_seed) for of_seed in by_seed],
    )


def partners(rows: Sequence[Row], crossed: Sequence[Row]) -> list[tuple[str, int, int]]:
    """For each task how many more test tasks its agents solved beside another seed's partner, and of how many.

    Both agents of both seeds play as often with a partner of their own seed as with the other's.
    """
    found = []
    for task, mine in by_task(crossed).items():
        own = {row["seed"]: row["after"] for row in rows if arm_of(row) == arm_of(mine[0])}
        drop = total = 0
        for row in mine:
            for seed in row["seeds"]:
                drop -= own[seed]["solved"].count("1")
            drop += 2 * row["solved"].count("1")
            total += 2 * row["tasks"]
        found.append((task, drop, total))
    return found


def arm_of(row: Row) -> tuple[str, str]:
    return row["task"], row["arm"]
