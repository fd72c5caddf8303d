"""The state of an episode: what was planned, reported and answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmzoo.envs.crowd.delegate import reading
from llmzoo.envs.crowd.delegate.reading import Assignment
from llmzoo.envs.crowd.delegate.tasks import DelegateTask

Phase = Literal["plan", "report", "read", "answer", "over"]


@dataclass(frozen=True, slots=True)
class DelegateState:
    """The state of an episode.

    assignments: the pages that were read, and by whom: ``worker_1`` reads the first. reports: what the lead was
    told of each, or what a reader alone noted; "" for nothing. problem: with the lead's last text. opened:
    the page that a reader alone sees. texts: how many a reader alone has written.
    """

    task: DelegateTask
    phase: Phase
    assignments: tuple[Assignment, ...] = ()
    reports: tuple[str, ...] = ()
    problem: str = ""
    opened: str | None = None
    texts: int = 0
    answer: int | None = None

    @property
    def titles(self) -> list[str]:
        return [assignment.title for assignment in self.assignments]

    @property
    def values(self) -> dict[str, int]:
        """The number at the end of each report, by title."""
        found = zip(self.titles, map(reading.find_number, self.reports), strict=False)
        return {title: number for title, number in found if number is not None}

    def is_found(self, title: str) -> bool:
        """Whether a page is needed and its partial value was reported."""
        needed = title in self.task.question.titles
        return needed and self.values.get(title) == self.task.partial_value(title)

    @property
    def found_share(self) -> float:
        """The share of the needed pages whose partial value was reported."""
        needed = self.task.question.titles
        return sum(map(self.is_found, needed)) / len(needed)
