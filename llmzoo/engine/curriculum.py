"""A curriculum: training tasks are drawn by how often they have been solved so far.

A group teaches something only if its returns differ. With rewards of 0 and 1 a task of success p gives
an answer the variance p (1 - p), which is its learnability: tasks that are never or always solved give
nothing ("No Regrets", arXiv 2408.15099; levels are replayed by what there is to learn from them in
Prioritized Level Replay, arXiv 2010.03934). DAPO samples such groups and drops them
(``zero_variance_groups``); a curriculum does not play them in the first place.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from pettingzoo import AECEnv

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.engine.curriculum_config import CurriculumArgs, CurriculumKind
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.records import Batch

UNKNOWN_SUCCESS_RATE = 0.5  # the success of a task without results enough


class Curriculum:
    """How often each task was solved, and which one each episode plays.

    ``results``: for each task that was played, its newest results. A result is the success of one rollout,
    from 0 to 1: the mean over the endings of its tree. They are kept in checkpoints. ``tasks``: the
    tasks are numbered from 0 to ``tasks - 1``.
    """

    def __init__(self, choice: CurriculumKind, args: CurriculumArgs, tasks: int):
        self.choice, self.args, self.tasks = choice, args, tasks
        self.results: dict[int, list[float]] = {}
        self._rng_prefix = ""  # of this iteration's chance
        self._reached: list[float] = []  # sums of the weights up to each task, in this iteration

    def success(self, task: int) -> float:
        """The mean of a task's newest results; 1/2 before there are ``first`` of them."""
        results = self.results.get(task, [])
        return fmean(results) if len(results) >= self.args.first else UNKNOWN_SUCCESS_RATE

    def weight(self, task: int) -> float:
        """How likely the task is drawn, up to a factor."""
        success = self.success(task)
        if self.choice == "learnability":
            return success * (1.0 - success)
        if self.choice == "threshold":
            return float(self.args.low <= success <= self.args.high)
        return 1.0

    def begin(self, step: int, seed: int) -> None:
        """Weigh all tasks for iteration ``step``; ``seed``: its own."""
        self._rng_prefix = f"curriculum/{seed}"
        self._reached = list(accumulate(map(self.weight, range(self.tasks))))

    def task(self, seed: int) -> int:
        """The task of the episode of ``seed``."""
        rng = random.Random(f"{self._rng_prefix}/{seed}")
        if rng.random() >= self.args.share or self._reached[-1] == 0.0:
            return rng.randrange(self.tasks)
        return rng.choices(range(self.tasks), cum_weights=self._reached)[0]

    def options(self, seed: int) -> dict[str, Any]:
        """What ``reset`` is told for the episode of ``seed``."""
        return {"task": self.task(seed)}

    def record(self, batch: Batch) -> dict[str, float]:
        """Note the results of a batch; returns metrics."""
        solved: dict[int, list[bool]] = {}
        for ending in batch.endings:
            solved.setdefault(ending.seed, []).append(ending.success)
        for seed, endings in solved.items():
            results = self.results.setdefault(self.task(seed), [])
            results.append(fmean(endings))
            del results[: -self.args.window]
        partly_solved = sum(0.0 < self.success(task) < 1.0 for task in self.results)
        return {
            "tasks_played": float(len(self.results)),
            "tasks_between": partly_solved / max(1, len(self.results)),
        }

    def save(self, folder: Path) -> None:
        if ranks.rank() == 0:
            files.write(folder / "curriculum.json", files.dump_json(self.results))

    def load(self, folder: Path) -> None:
        saved = files.read_json_object(folder / "curriculum.json")
        if saved is None:
            raise CheckpointError(f"{folder} has no curriculum.json: its run had no curriculum")
        self.results = {int(task): list(results) for task, results in saved.items()}


def count_curriculum_tasks(env: AECEnv, args: CurriculumArgs) -> int:
    """How many numbered tasks a curriculum draws from; raises :class:`ConfigError` where there are none.

    Tasks have numbers in the lists of public sets and files, and in generators: these have no end, and
    ``tasks`` says how many are played.
    """
    env.reset(seed=0)
    info = env.infos[env.agent_selection]
    if "task_id" not in info:
        raise ConfigError(f"{env} names no tasks in infos (task_id): leave out curriculum")
    if info.get("split", "train") != "train":
        raise ConfigError(
            f"a curriculum draws training tasks, not those of split={info['split']!r}"
        )
    count = info.get("tasks")
    tasks = args.tasks or count
    if tasks is None:
        raise ConfigError(
            f"{env} generates an unlimited number of tasks. Set curriculum_args.tasks, for example 200."
        )
    if tasks < 2 or (count is not None and tasks > count):
        raise ConfigError(
            f"{env} has {count} training tasks; a curriculum of {tasks} needs 2 or more"
        )
    if len(set(_task_ids(env, [0, tasks - 1]))) < 2:
        raise ConfigError(f"{env} plays the same task whatever options['task'] is")
    return tasks


def _task_ids(env: AECEnv, numbers: Sequence[int]) -> list[str]:
    ids = []
    for number in numbers:
        try:
            env.reset(seed=0, options={"task": number})
        except IndexError as error:
            raise ConfigError(f"curriculum_args tasks is too large: {error}") from error
        ids.append(str(env.infos[env.agent_selection]["task_id"]))
    return ids
