"""Where tasks come from: endless generators and lists, split by the content of the task.

A task belongs to the test split when the hash of its canonical form says so, never because of a
seed or a place in a file: two seeds that draw the same puzzle, or mirror images of one level, land
in the same split.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from llmzoo.envs.settings import one_of
from llmzoo.errors import ConfigError

T = TypeVar("T", bound=Hashable)

SPLITS = ("train", "test", "all")
TEST_SHARE = 5  # one task in five is a test task
_MAX_DRAWS = 5_000  # draws in a row without a new task before a generator counts as exhausted
# environments in several threads share their tasks; one lock for all, since tasks are pickled
_NUMBERING = threading.RLock()


def split_of(canonical: str) -> str:
    """``"test"`` for one canonical form in five, by its SHA-256; ``"train"`` for the others."""
    digest = hashlib.sha256(canonical.encode()).digest()
    return "test" if int.from_bytes(digest[:8], "big") % TEST_SHARE == 0 else "train"


def check_split(split: str) -> str:
    one_of("split", split, SPLITS)
    return split


class Generated(Generic[T]):
    """Tasks of one split, drawn by ``draw(rng)``.

    ``canonical`` maps a task to a text that is the same for all tasks that count as one (mirror
    images, renamed digits). No two numbered tasks share it: ``tasks[i]`` is the i-th distinct task of
    the split, the same on every machine. ``sample`` draws a task at random. ``name`` seeds the numbered
    tasks.
    """

    source = "generator"

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
        self.count: int | None = None  # endless, as far as is known
        self._rng = random.Random(f"{name}/{split}")
        self._found: list[T] = []
        self._seen: set[str] = set()  # canonical forms of the numbered tasks

    def sample(self, rng: random.Random) -> T:
        for _ in range(_MAX_DRAWS):
            task = self._draw(rng)
            if self.split == "all" or split_of(self._canonical(task)) == self.split:
                return task
        raise ConfigError(f"{self.name}: no {self.split} task in {_MAX_DRAWS} draws")

    def __getitem__(self, index: int) -> T:
        if index < 0:
            raise IndexError(f"task numbers start at 0; got {index}")
        if index >= len(self._found):
            with _NUMBERING:
                self._find(index)
        return self._found[index]

    def _find(self, index: int) -> None:
        misses = 0
        while len(self._found) <= index:
            task = self.sample(self._rng)
            form = self._canonical(task)
            if form in self._seen:
                misses += 1
                if misses > _MAX_DRAWS:
                    self.count = len(self._found)
                    raise IndexError(
                        f"{self.name} has about {len(self._found)} distinct {self.split} tasks "
                        f"at these settings; task {index} does not exist"
                    )
                continue
            misses = 0
            self._seen.add(form)
            self._found.append(task)


class Listed(Generic[T]):
    """Tasks read from a file or a data set, filtered to one split by content."""

    def __init__(
        self, tasks: Sequence[T], canonical: Callable[[T], str], *, split: str, source: str
    ):
        check_split(split)
        self.split = split
        self.source = source
        self._tasks = [t for t in tasks if split in ("all", split_of(canonical(t)))]
        if not self._tasks:
            raise ConfigError(f"{source}: none of its {len(tasks)} tasks is in split {split!r}")
        self.count: int | None = len(self._tasks)

    def sample(self, rng: random.Random) -> T:
        return self._tasks[rng.randrange(len(self._tasks))]

    def __getitem__(self, index: int) -> T:
        if not 0 <= index < len(self._tasks):
            raise IndexError(
                f"{self.source} has {len(self._tasks)} tasks in split {self.split!r}; "
                f"task {index} does not exist"
            )
        return self._tasks[index]


Tasks = Generated[T] | Listed[T]


def described(tasks: Tasks[Any], canonical: str) -> dict[str, Any]:
    """What the infos of an episode say of its task: source, split, how many there are, and an id."""
    return {
        "source": tasks.source,
        "split": tasks.split,
        "tasks": tasks.count,
        "task_id": hashlib.sha256(canonical.encode("utf-8", "replace")).hexdigest()[:16],
    }
