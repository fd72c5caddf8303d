"""What the ids of public sets share: tasks from the hub, a file, or the sample of our own problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from llmzoo.envs.coding import judging
from llmzoo.envs.coding.functions.samples import Sample, samples
from llmzoo.envs.coding.functions.tasks import FunctionTask, canonical
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.envs.sources import Loaded, Record, load
from llmzoo.envs.tasks import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """A set on the hub. ``read``: a record as a task. ``write``: one of our problems as a record.
    ``third``: which third of our problems, 0 to 2, is its sample."""

    hub_id: str
    hub_args: tuple[str, ...] = ()
    read: Callable[[Record], FunctionTask]
    write: Callable[[Sample], dict[str, Any]]
    third: int

    def sample(self) -> list[dict[str, Any]]:
        return [self.write(problem) for problem in samples()[self.third :: 3]]


class PublicSetWriters(TwoWriters):
    """Two writers of the tasks of a public set, which a subclass names."""

    public_set: ClassVar[PublicSet]

    def find_tasks(
        self, source: str, split: str, on_bad_record: str
    ) -> tuple[Tasks[FunctionTask], bool]:
        chosen = self.public_set
        found = load(
            source,
            hub_id=chosen.hub_id,
            hub_args=chosen.hub_args,
            sample=chosen.sample,
            parse=chosen.read,
            on_bad_record=on_bad_record,
        )
        judged = _judged(found)
        return judged.listed(canonical, split), found.fallback


@lru_cache(maxsize=32)  # environments of one source share their tasks
def _judged(found: Loaded[FunctionTask]) -> Loaded[FunctionTask]:
    def has_verdict(task: FunctionTask) -> bool:
        return judging.has_verdict(f"{task.setup}\n{task.tests}".strip(), task.entry_point)

    return found.those(has_verdict, asked=False)
