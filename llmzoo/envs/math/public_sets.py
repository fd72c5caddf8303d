"""What the ids of public sets share: tasks from the hub, a file, or problems written for llmzoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from llmzoo.envs.math.rounds import Reasoning
from llmzoo.envs.math.tasks import MathTask, canonical
from llmzoo.envs.sources import Record, load, records
from llmzoo.envs.tasks import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """A set on the hub. ``read``: a record as a task, or None where it is left out; it raises
    ``BadField`` for a malformed one. ``sample``: the shipped file of the same schema."""

    hub_id: str
    hub_args: tuple[str, ...] = ()
    read: Callable[[Record], MathTask | None]
    sample: str

    def shipped(self) -> list[dict[str, Any]]:
        """The records that were written for llmzoo. Their ``program`` prints the answer."""
        return list(records(Path(__file__).parent / "problems" / self.sample))


class PublicSetReasoning(Reasoning):
    """Reasoners and tools on the tasks of a public set, which a subclass names."""

    public_set: ClassVar[PublicSet]

    def find_tasks(
        self, source: str, split: str, on_bad_record: str
    ) -> tuple[Tasks[MathTask], bool]:
        chosen = self.public_set
        found = load(
            source,
            hub_id=chosen.hub_id,
            hub_args=chosen.hub_args,
            sample=chosen.shipped,
            parse=chosen.read,
            on_bad_record=on_bad_record,
        )
        return found.listed(canonical, split), found.fallback
