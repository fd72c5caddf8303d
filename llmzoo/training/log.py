"""What a run writes while it trains: metrics, recorded episodes and a progress bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from llmzoo.distributed import ranks
from llmzoo.engine.base import Iteration
from llmzoo.policies.base import Policy
from llmzoo.training.config import FitConfig
from llmzoo.training.recording import Recorder
from llmzoo.training.tracking import Tracker


class RunLog(Protocol):
    """Receives what happens in a run."""

    def iteration(
        self,
        step: int,
        row: Mapping[str, Any],
        iteration: Iteration,
        seats: Mapping[str, Policy],
        *,
        last: bool,
    ) -> None:
        """Iteration ``step``, counted from 1, and its metrics; ``last``: the run has ended."""

    def evaluation(self, step: int, evaluation: Mapping[str, Any]) -> None:
        """The evaluation after ``step`` iterations."""

    def note(self, text: str) -> None:
        """A line for people."""

    def flush(self) -> None:
        """Make everything written so far safe on disk."""


@contextmanager
def open_log(
    run: Path, config: FitConfig, first: int, *, ended: bool, quiet: bool
) -> Iterator[RunLog]:
    """The log of a run that starts after ``first`` iterations. Only the first rank writes.

    ``ended``: no iteration follows. ``quiet``: show nothing on standard error.
    """
    if ranks.rank() > 0:
        yield _NoLog()
        return
    last = first if ended else config.steps
    with (
        Tracker(run, first, last, trackers=config.trackers, settings=asdict(config)) as tracker,
        Recorder(
            run, every=config.record_every, tasks=config.record_tasks, first=first, ended=ended
        ) as recorder,
        Progress(config, first, quiet=quiet) as progress,
    ):
        yield _FullLog(tracker, recorder, progress)


class _FullLog:
    def __init__(self, tracker: Tracker, recorder: Recorder, progress: Progress):
        self._tracker, self._recorder, self._progress = tracker, recorder, progress
        self.evaluation = tracker.evaluation
        self.note = progress.note

    def iteration(
        self,
        step: int,
        row: Mapping[str, Any],
        iteration: Iteration,
        seats: Mapping[str, Policy],
        *,
        last: bool,
    ) -> None:
        self._tracker.iteration(step, row)
        self._recorder.iteration(step, iteration, seats, last=last)
        self._progress.advance(row)

    def flush(self) -> None:
        self._tracker.flush()
        self._recorder.flush()


class _NoLog:
    """The log of the other ranks."""

    def iteration(self, *args: Any, last: bool) -> None:
        pass

    def evaluation(self, step: int, evaluation: Mapping[str, Any]) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def flush(self) -> None:
        pass


class Progress:
    """A progress bar on standard error, with the last iteration's success and throughput."""

    def __init__(self, config: FitConfig, first: int, *, quiet: bool = False):
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
        """Print a line above the bar."""
        if not self._quiet:
            self._bar.console.print(text, highlight=False)


def figures(row: Mapping[str, Any]) -> str:
    """The text beside the bar. It includes the mean return over agents if nothing succeeded."""
    outcome = f"success {row['success']:.0%}"
    if not row["success"] and row["return"]:
        outcome += f"  return {fmean(row['return'].values()):.3f}"
    return f"{outcome}  {row['tokens_per_second']:,.0f} tokens/s"
