"""The sides of a comparison of training steps: a process each, which steps when it is its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peers import Worker

PROBES = 2  # steps with each number of threads, to choose it


class Side:
    """A worker, the numbers of threads to choose from and the chosen one, and what steps took."""

    def __init__(self, worker: Worker, choices: Sequence[int]) -> None:
        self.worker = worker
        self.choices = choices
        self.threads = choices[-1]
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self.megabytes = 0.0  # the most so far

    def step(self, threads: int, *, count: bool = False) -> dict[str, Any]:
        found = self.worker.ask(threads=threads, count=count)
        self.megabytes = found["peak_bytes"] / 1e6
        return found


def take_turns(sides: Sequence[Side], repeats: int, sampled: int, completions: int) -> None:
    """Time ``repeats`` steps of every side, after one that is counted and those that try threads.

    A step is to sample ``sampled`` tokens in ``completions`` completions, and to train on them all.
    """
    for side in sides:
        found = side.step(side.threads, count=True)
        assert found["sampled"] == sampled, found
        # nothing is predicted from a completion's last token, so it need not be read
        assert found["trained"] >= sampled - completions, found
    fastest = [float("inf")] * len(sides)
    most = max(len(side.choices) for side in sides)
    for probe in range(PROBES * most if most > 1 else 0):
        for i, side in enumerate(sides):
            threads = side.choices[probe % len(side.choices)]
            seconds = side.step(threads)["seconds"]
            if seconds < fastest[i]:
                fastest[i], side.threads = seconds, threads
    for _ in range(repeats):
        for side in sides:
            found = side.step(side.threads)
            side.seconds.append(found["seconds"])
            side.cpu_seconds.append(found["cpu_seconds"])
