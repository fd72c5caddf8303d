"""A curriculum: training tasks are sampled by how often they have been solved so far.

A group has a learning signal only if its returns differ. With rewards of 0 and 1, the returns of a task with
success rate p have the variance p (1 - p), which is the task's learnability ("No Regrets", arXiv 2408.15099).
It is 0 for tasks that are never or always solved. Prioritized Level Replay (arXiv 2010.03934) also samples
levels by their learning signal. DAPO plays such tasks and then drops their groups
(``zero_variance_groups``). A curriculum does not play them in the first place.
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

UNKNOWN_SUCCESS_RATE = 0.5  # of a task with too few results


class Curriculum:
    """Counts how often each task was solved, and samples the task of each episode.

    ``results``: the newest results of each task that was played. A result is the success rate of one
    rollout, from 0 to 1: the mean over all episode ends of its tree. Checkpoints contain the results.
    ``tasks``: the number of tasks, which are numbered from 0.
    """

    def __init__(self, kind: CurriculumKind, args: CurriculumArgs, tasks: int):
        self.kind, self.args, self.tasks = kind, args, tasks
        self.results: dict[int, list[float]] = {}
        self._rng_prefix = ""  # seeds the sampling of this iteration
        self._cumulative_weights: list[float] = []  # cumulative over the tasks, for this iteration

    def success_rate(self, task: int) -> float:
        """The mean of a task's newest results; 1/2 if it has fewer than ``first``."""
        results = self.results.get(task, [])
        return fmean(results) if len(results) >= self.args.first else UNKNOWN_SUCCESS_RATE

    def task_weight(self, task: int) -> float:
        """The unnormalized probability of sampling a task."""
        success = self.success_rate(task)
        if self.kind == "learnability":
            return success * (1.0 - success)
        if self.kind == "threshold":
            return float(self.args.low <= success <= self.args.high)
        return 1.0

    def start_iteration(self, step: int, seed: int) -> None:
        """Compute the weights of all tasks for an iteration; ``seed``: that of iteration ``step``."""
        self._rng_prefix = f"curriculum/{seed}"
        self._cumulative_weights = list(accumulate(map(self.task_weight, range(self.tasks))))

    def sample_task(self, seed: int) -> int:
        """The task of the episode with this seed."""
        rng = random.Random(f"{self._rng_prefix}/{seed}")
        if rng.random() >= self.args.share or self._cumulative_weights[-1] == 0.0:
            return rng.randrange(self.tasks)
        return rng.choices(range(self.tasks), cum_weights=self._cumulative_weights)[0]

    def reset_options(self, seed: int) -> dict[str, Any]:
        """The ``options`` of ``reset`` for the episode with this seed."""
        return {"task": self.sample_task(seed)}

    def record_results(self, batch: Batch) -> dict[str, float]:
        """Add the results of a batch. Returns metrics."""
        solved: dict[int, list[bool]] = {}
        for ending in batch.endings:
            solved.setdefault(ending.seed, []).append(ending.success)
        for seed, endings in solved.items():
            results = self.results.setdefault(self.sample_task(seed), [])
            results.append(fmean(endings))
            del results[: -self.args.window]
        partly_solved = sum(0.0 < self.success_rate(task) < 1.0 for task in self.results)
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
    """The number of tasks that a curriculum samples from.

    The tasks of public sets, files and generators are numbered. Generators have an unlimited number of tasks,
    so ``args.tasks`` must limit it. Raises :class:`ConfigError` if tasks have no numbers, or fewer than two.
    """
    env.reset(seed=0)
    info = env.infos[env.agent_selection]
    if "task_id" not in info:
        raise ConfigError(f"{env} names no tasks in infos (task_id): leave out curriculum")
    if info.get("split", "train") != "train":
        raise ConfigError(
            f"a curriculum samples training tasks, not those of split={info['split']!r}"
        )
    count = info.get("tasks")
    tasks = args.tasks or count
    if tasks is None:
        raise ConfigError(
            f"{env} generates an unlimited number of tasks. Set curriculum_args.tasks, for example 200."
        )
    if tasks < 2 or (count is not None and tasks > count):
        limit = (
            "" if count is None else f" and at most {count}, the number of training tasks of {env}"
        )
        raise ConfigError(f"curriculum_args.tasks must be at least 2{limit}, got {tasks}")
    if len(set(_task_ids(env, [0, tasks - 1]))) < 2:
        raise ConfigError(
            f"{env} plays the same task for every options['task']: leave out curriculum"
        )
    return tasks


def _task_ids(env: AECEnv, numbers: Sequence[int]) -> list[str]:
    ids = []
    for number in numbers:
        try:
            env.reset(seed=0, options={"task": number})
        except IndexError as error:
            raise ConfigError(f"curriculum_args.tasks is too large: {error}") from error
        ids.append(str(env.infos[env.agent_selection]["task_id"]))
    return ids
