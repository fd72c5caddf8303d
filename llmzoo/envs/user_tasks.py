"""Tasks that a user gives as rows: a list, a file of JSON lines, or one list for each split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from llmzoo.envs.tasks import TaskList, check_split
from llmzoo.errors import ConfigError
from llmzoo.names import check_names

Rows = Sequence[str | Mapping[str, Any]]
TaskSource = Rows | Mapping[str, Rows] | str | Path


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task; ``text`` is its canonical form."""

    text: str
    columns: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True, slots=True, eq=False)
class _TasksByIdentity:
    """Tasks as given, compared by identity."""

    tasks: TaskSource

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TasksByIdentity) and self.tasks is other.tasks

    def __hash__(self) -> int:
        return id(self.tasks)


def load_tasks(tasks: TaskSource, split: str) -> TaskList[TaskRow]:
    """The tasks of one split.

    A list, or a ``.jsonl`` file of one, is split by the content of its rows; duplicates count once.
    ``{"train": rows, "test": rows}`` is taken as it is. Raises :class:`ConfigError` for anything
    else, and if no task is left.
    """
    check_split(split)
    return _load_split(_TasksByIdentity(tasks), split)


# each environment is made again, but its tasks are split once
@lru_cache(maxsize=16)
def _load_split(given: _TasksByIdentity, split: str) -> TaskList[TaskRow]:
    tasks = given.tasks
    source = str(tasks) if isinstance(tasks, str | Path) else "tasks"
    if isinstance(tasks, str | Path):
        tasks = _read_jsonl(Path(tasks))
    if not isinstance(tasks, Mapping):
        return TaskList(_to_task_rows(tasks), lambda row: row.text, split=split, source=source)
    check_names("split in tasks", tasks, ("train", "test"))
    rows = {name: _to_task_rows(split_rows) for name, split_rows in tasks.items()}
    both = {r.text for r in rows.get("train", ())} & {r.text for r in rows.get("test", ())}
    if both:
        raise ConfigError(f"{len(both)} tasks stand in train and in test")
    chosen = [
        row for name, split_rows in rows.items() if split in ("all", name) for row in split_rows
    ]
    if not chosen:
        raise ConfigError(f"tasks has none in split {split!r}, only in {', '.join(rows)}")
    task_list = TaskList(chosen, lambda row: row.text, split="all", source=source)
    task_list.split = split
    return task_list


def _read_jsonl(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} holds no tasks, one JSON object a line: {error}") from error


def _to_task_rows(tasks: Rows) -> list[TaskRow]:
    rows = {}
    for task in tasks:
        columns = {"prompt": task} if isinstance(task, str) else task
        if not isinstance(columns, Mapping):
            raise ConfigError(f"a task is a text or a mapping, got {task!r:.60}")
        text = json.dumps(columns, sort_keys=True, default=str)
        rows[text] = TaskRow(text, dict(columns))
    return list(rows.values())
