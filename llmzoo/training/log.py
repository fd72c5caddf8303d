"""The output of a run during training: metrics, recorded episodes and a progress bar."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from llmzoo.distributed import ranks
from llmzoo.engine.base import Iteration
from llmzoo.errors import CheckpointError
from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.policies.base import Policy
from llmzoo.terminal_text import escape_unprintable
from llmzoo.training.config import FitConfig
from llmzoo.training.recording import Recorder
from llmzoo.training.tracking import Tracker

_NOTE_INTERVAL_S = 60.0  # between progress lines if there is no terminal


class RunLog(AbstractContextManager["RunLog"]):
    """Writes and shows the progress of a run, on the first rank only.

    ``completed_steps``: the number of iterations that a resumed run has done. ``ended``: no iteration
    follows. ``quiet``: show nothing on standard error.
    """

    def __init__(
        self, run: Path, config: FitConfig, completed_steps: int, *, ended: bool, quiet: bool
    ):
        self._opened = ExitStack()
        self._writes = ranks.rank() == 0
        self._quiet = quiet
        if not self._writes:
            return
        last = completed_steps if ended else config.steps
        settings = asdict(config)
        with ExitStack() as opened:
            self._tracker = opened.enter_context(
                Tracker(run, completed_steps, last, trackers=config.trackers, settings=settings)
            )
            every, tasks = config.record_every, config.record_tasks
            self._recorder = opened.enter_context(
                Recorder(
                    run, every=every, tasks=tasks, completed_steps=completed_steps, ended=ended
                )
            )
            self._bar = opened.enter_context(_progress_bar(quiet))
            title = f"{config.learner} on {config.env}"
            self._task = self._bar.add_task(
                title, total=config.steps, completed=completed_steps, figures=""
            )
            self._steps, self._last_note_time = config.steps, time.monotonic()
            self._opened = opened.pop_all()

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def log_iteration(
        self,
        step: int,
        row: Mapping[str, Any],
        iteration: Iteration,
        agent_policies: Mapping[str, Policy],
        *,
        last: bool,
    ) -> None:
        """Log iteration ``step``, counted from 1, and its metrics; ``last``: the run has ended."""
        if self._writes:
            self._tracker.log_iteration(step, row)
            self._recorder.record_iteration(step, iteration, agent_policies, last=last)
            self._bar.update(self._task, advance=1, figures=progress_text(row))
            now = time.monotonic()
            if not self._bar.console.is_terminal and now - self._last_note_time >= _NOTE_INTERVAL_S:
                self._last_note_time = now  # a bar in a file is drawn once, at the end
                self.note(f"iteration {step} of {self._steps}  {progress_text(row)}")

    def log_evaluation(self, step: int, evaluation: Mapping[str, Any]) -> None:
        """Log the evaluation after ``step`` iterations."""
        if self._writes:
            self._tracker.log_evaluation(step, evaluation)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        if self._writes and not self._quiet:
            self._bar.console.print(escape_unprintable(text), highlight=False, markup=False)

    def flush(self) -> None:
        """Make everything written so far safe on disk."""
        if self._writes:
            self._tracker.flush()
            self._recorder.flush()


def progress_text(row: Mapping[str, Any]) -> str:
    """The text next to the bar. It includes the mean return over agents if the success rate is 0."""
    outcome = f"success {row['success']:.0%}"
    if not row["success"] and row["return"]:
        outcome += f"  return {fmean(row['return'].values()):.3f}"
    return f"{outcome}  {row['tokens_per_second']:,.0f} tokens/s"


def summarize_evaluation(evaluation: Mapping[str, Any]) -> str:
    """An evaluation in one line."""
    try:
        low, high = evaluation["success_ci95"]
        return (
            f"success {evaluation['success']:.1%} [{low:.1%}, {high:.1%}] sampled, "
            f"{evaluation['greedy']['success']:.1%} greedy, "
            f"on {format_task_count(evaluation)} {evaluation['split']} tasks"
        )
    except (LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            "before.json or after.json does not contain an evaluation: delete it, and the resumed run "
            f"evaluates again ({error!r})"
        ) from error


def _progress_bar(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
        console=Console(stderr=True),
        disable=quiet,
    )
