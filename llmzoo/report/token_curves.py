"""Success by the tokens that a run has sampled, one picture for each environment of a bench."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from llmzoo.report import style
from llmzoo.report.drawing import success_of
from llmzoo.report.runs import Row, RunData, read
from llmzoo.report.series import RunGroup, curve, evaluations, groups, window_of


def save_curves(folders: Sequence[Path], out: Path) -> list[Path]:
    """Draw ``curve-ENV.png`` in ``out`` for each environment of the runs. Runs without a single
    iteration are left out."""
    runs = [read(folder, folder.name) for folder in folders if (folder / "config.json").exists()]
    together = groups([run for run in runs if run.train])
    paths = []
    for env in dict.fromkeys(group.env for group in together):
        figure = by_tokens([group for group in together if group.env == env])
        name = re.sub(r"[:/]+", ".", env)  # as in the names of the runs
        path = out / f"curve-{name}.png"
        with style.styled():
            figure.suptitle(env, fontsize=10)
            style.save(figure, path)
        paths.append(path)
    return paths


def by_tokens(groups: Sequence[RunGroup]) -> Figure:
    """Success in play as a line, and on held-out tasks with 95% intervals by distinct tasks.

    Several seeds are drawn as their mean at the mean of their tokens, up to the iteration that all of
    them reached. Runs that learn from demonstrations have no line: nothing is played.
    """
    with style.styled():
        figure, axes = style.blank(
            style.WIDE, x="tokens (sampled; of sft, demonstrated)", y="success (share)"
        )
        for number, group in enumerate(groups):
            colour = style.colour(number)
            at = {0: 0.0} | tokens_at(group.runs)
            drawn = curve(group.runs, _played, window=window_of(group.runs), points=10**9)
            # beyond, seeds would drop out of the mean one by one
            shared = sum(step <= min(run.steps for run in group.runs) for step in drawn.steps)
            axes.plot(
                [at[int(step)] for step in drawn.steps[:shared]],
                drawn.mean[:shared],
                label=group.label,
                color=colour,
                linestyle=style.dash(number),
                linewidth=1.8,
            )
            points = [point for point in evaluations(group.runs) if point.step in at]
            style.intervals(
                axes,
                [at[point.step] for point in points],
                [point.success for point in points],
                [point.ci95 for point in points],
                colour=colour,
            )
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        style.legend(axes)
    return figure


def tokens_at(runs: Sequence[RunData]) -> dict[int, float]:
    """The mean tokens of the runs after each iteration that one of them has done."""
    found: dict[int, list[float]] = {}
    for run in runs:
        totals = accumulate(row.get("tokens", 0) for row in run.train)
        for row, total in zip(run.train, totals, strict=True):
            found.setdefault(row["step"], []).append(total)
    return {step: fmean(totals) for step, totals in found.items()}


def _played(row: Row) -> Any:
    return None if row.get("demonstrated_tokens") else success_of(row)
