"""Where tasks come from: endless generators and lists, split by the content of the task.

A task belongs to the test split when the hash of its canonical form says so, never because of a
seed or a place in a file: two seeds that draw the same puzzle, or mirror images of one level, land
in the same split.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from llmzoo.envs.argument_checks import check_choice
from llmzoo.errors import ConfigError

T = TypeVar("T", bound=Hashable)

SPLITS = ("train", "test", "all")
TEST_SHARE = 5  # one task in five is a test task
_MAX_DRAWS = 5_000  # draws in a row without a new task before a generator counts as exhausted
# environments in several threads share their tasks; one lock for all, since tasks are pickled
_NUMBERING_LOCK = threading.RLock()


def assign_split(canonical: str) -> str:
    """``"test"`` for one canonical form in five, by its SHA-256; ``"train"`` for the others."""
    digest = hashlib.sha256(canonical.encode("utf-8", "replace")).digest()
    return "test" if int.from_bytes(digest[:8], "big") % TEST_SHARE == 0 else "train"


def check_split(split: str) -> str:
    check_choice("split", split, SPLITS)
    return split


class GeneratedTasks(Generic[T]):
    """Tasks of one split, drawn by ``draw(rng)``.

    ``canonical`` maps a task to a text that is the same for all tasks that count as one (mirror
    images, renamed digits). ``tasks[i]`` is the i-th distinct task of the split by this text, the same
    on every machine. ``sample`` draws a task at random. ``name`` seeds the numbered tasks.
    """

    source = "generator"
    fallback = False
    skipped = left_out = 0

    def __init__(
        self,
        draw: Callable[[random.Random], T],
        canonical: Callable[[T], str],
        *,
        split: str,
        name: str,
    ):
        self._draw = draw
        self._canonical = canonical
        self.split = check_split(split)
        self.name = name
        self.count: int | None = None  # unknown until the generator is exhausted
        self._rng = random.Random(f"{name}/{split}")
        self._numbered: list[T] = []
        self._seen: set[str] = set()  # canonical forms of the numbered tasks

    def sample(self, rng: random.Random) -> T:
        for _ in range(_MAX_DRAWS):
            task = self._draw(rng)
            if self.split == "all" or assign_split(self._canonical(task)) == self.split:
                return task
        raise ConfigError(f"{self.name}: no {self.split} task in {_MAX_DRAWS} draws")

    def __getitem__(self, index: int | str) -> T:
        if isinstance(index, str):
            raise ConfigError(f"tasks of {self.name} have numbers from 0 and no ids; got {index!r}")
        if index < 0:
            raise IndexError(f"task numbers start at 0; got {index}")
        while index >= len(self._numbered):
            with (
                _NUMBERING_LOCK
            ):  # held for one task only, so that no thread waits until another has made thousands
                self._find_next(index)
        return self._numbered[index]

    def task_name(self, task: object) -> str:
        """ "": generated tasks have no ids of their own."""
        return ""

    def _find_next(self, index: int) -> None:
        """Add one task to the numbered tasks, on the way to ``index``."""
        for _ in range(_MAX_DRAWS + 1 if self.count is None else 0):
            task = self.sample(self._rng)
            form = self._canonical(task)
            if form not in self._seen:
                self._seen.add(form)
                self._numbered.append(task)
                return
        self.count = len(self._numbered)
        raise IndexError(
            f"{self.name} has about {self.count} distinct {self.split} tasks at these settings; "
            f"task {index} does not exist"
        )


@lru_cache(maxsize=128)  # environments with the same arguments share their tasks
def generate_tasks(
    draw: Callable[..., T],
    canonical: Callable[[T], str],
    *,
    split: str,
    name: str,
    **arguments: Any,
) -> GeneratedTasks[T]:
    """The tasks that ``draw(rng, **arguments)`` makes; see :class:`GeneratedTasks`."""
    return GeneratedTasks(partial(draw, **arguments), canonical, split=split, name=name)


class TaskList(Generic[T]):
    """Tasks read from a file or a data set, in their order, filtered to one split by content.

    Tasks with the same canonical form are all kept, in the same split. ``self[i]`` is task i of the
    split for a number, and the task with this id for a text.

    * ``names``: an id for each task. A task without one ("") is named by a hash of its canonical form.
      The second task with the same name is named ``NAME-2``.
    * ``fallback``: the tasks are a sample, because the public set could not be reached.
    * ``bad``: what is wrong with each bad record of the source. ``skipped`` is their number.
    * ``left_out``: the number of good records that the environment does not play.
    """

    def __init__(
        self,
        tasks: Sequence[T],
        canonical: Callable[[T], str],
        *,
        split: str,
        source: str,
        fallback: bool = False,
        names: Sequence[str] = (),
        bad: Sequence[str] = (),
        left_out: int = 0,
    ):
        check_split(split)
        self.split = split
        self.source = source
        self.fallback = fallback
        self.bad = tuple(bad)
        self.skipped = len(self.bad)
        self.left_out = left_out
        self._tasks: list[T] = []
        self._names: list[str] = []
        self._other_splits: dict[
            str, str
        ] = {}  # tasks of the other split: from the id to its split
        taken: set[str] = set()
        for task, given_name in zip(tasks, names or [""] * len(tasks), strict=True):
            form = canonical(task)
            name = _make_unique(given_name or content_id(form), taken)
            taken.add(name)
            where = assign_split(form)
            if split in ("all", where):
                self._tasks.append(task)
                self._names.append(name)
            else:
                self._other_splits[name] = where
        if not self._tasks:
            raise ConfigError(f"{source}: none of its {len(tasks)} tasks is in split {split!r}")
        self._index_by_name = {name: number for number, name in enumerate(self._names)}
        self.count: int | None = len(self._tasks)

    def sample(self, rng: random.Random) -> T:
        return self._tasks[rng.randrange(len(self._tasks))]

    def __getitem__(self, index: int | str) -> T:
        if isinstance(index, str):
            return self._tasks[self._find_index(index)]
        if not 0 <= index < len(self._tasks):
            raise IndexError(
                f"{self.source} has {len(self._tasks)} tasks in split {self.split!r}; "
                f"task {index} does not exist"
            )
        return self._tasks[index]

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the split's tasks, in order."""
        return tuple(self._names)

    def task_name(self, task: object) -> str:
        """The id of this task object; "" if it is not in the split."""
        pairs = zip(self._tasks, self._names, strict=True)
        return next((name for known, name in pairs if known is task), "")

    def _find_index(self, name: str) -> int:
        if name in self._index_by_name:
            return self._index_by_name[name]
        if name in self._other_splits:
            raise ConfigError(
                f"{self.source}: task {name!r} is in split {self._other_splits[name]!r}, not in "
                f"{self.split!r}; split='all' has every task"
            )
        near = difflib.get_close_matches(name, self._names, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"{self.source} has no task with the id {name!r}.{hint} A str is always an id; an int is "
            f"always an index in the split, from 0 to {len(self._tasks) - 1}"
        )


Tasks = GeneratedTasks[T] | TaskList[T]


def content_id(content: str) -> str:
    """16 hexadecimal digits that are the same for the same text."""
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def describe_task(tasks: Tasks[Any], content: str, task: object = None) -> dict[str, Any]:
    """What the infos of an episode say about its task: source, split, number of tasks, and ids.

    ``task_id`` is a hash of ``content``, equal for tasks with equal content. ``task_name`` is the id
    that ``options["task"]`` takes for ``task``, an object that ``tasks`` returned; without an id it is
    ``task_id``. ``skipped`` and ``left_out`` are present if they are not 0.
    """
    task_id = content_id(content)
    dropped = {"skipped": tasks.skipped, "left_out": tasks.left_out}
    return {
        "source": tasks.source,
        "split": tasks.split,
        "tasks": tasks.count,
        "task_id": task_id,
        "task_name": tasks.task_name(task) or task_id,
        **{name: count for name, count in dropped.items() if count},
    }


def _make_unique(name: str, taken: set[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3``, ... that is not taken."""
    unused, number = name, 1
    while unused in taken:
        number += 1
        unused = f"{name}-{number}"
    return unused
