"""The progress bar of a run."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress


class Progress:
    """Shows how far a run is, its success in play and its throughput, on standard error."""

    def __init__(self, config: Any, first: int, *, quiet: bool = False):
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}"),
            console=Console(stderr=True),
            disable=quiet,
        )
        self._quiet = quiet
        name = f"{config.learner} on {config.env}"
        self._task = self._bar.add_task(name, total=config.steps, completed=first, figures="")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, row: Mapping[str, Any]) -> None:
        self._bar.update(self._task, advance=1, figures=figures(row))

    def note(self, text: str) -> None:
        """A line above the bar."""
        if not self._quiet:
            self._bar.console.print(text, highlight=False)


def figures(row: Mapping[str, Any]) -> str:
    """What the bar says of an iteration; where nothing succeeded, the mean return of all agents."""
    outcome = f"success {row['success']:.0%}"
    if not row["success"] and row["return"]:
        outcome += f"  return {fmean(row['return'].values()):.3f}"
    return f"{outcome}  {row['tokens_per_second']:,.0f} tokens/s"
