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
from llmzoo.report.plotting import row_success
from llmzoo.report.runs import Row, RunData, load_run
from llmzoo.report.series import (
    RunGroup,
    compute_curve,
    evaluation_points,
    group_runs,
    smoothing_window,
)


def save_curves(folders: Sequence[Path], out: Path) -> list[Path]:
    """Draw ``curve-ENV.png`` in ``out`` for each environment of the runs. Runs without a single
    iteration are left out."""
    runs = [
        load_run(folder, folder.name) for folder in folders if (folder / "config.json").exists()
    ]
    run_groups = group_runs([run for run in runs if run.train])
    paths = []
    for env in dict.fromkeys(group.env for group in run_groups):
        figure = plot_by_tokens([group for group in run_groups if group.env == env])
        name = re.sub(r"[:/]+", ".", env)  # as in the names of the runs
        path = out / f"curve-{name}.png"
        with style.figure_style():
            figure.suptitle(env, fontsize=10)
            style.save_figure(figure, path)
        paths.append(path)
    return paths


def plot_by_tokens(groups: Sequence[RunGroup]) -> Figure:
    """Success in play as a line, and on held-out tasks with 95% intervals by distinct tasks.

    The curve of several seeds is their mean success over their mean tokens, up to the last iteration
    that all of them reached. Runs that learn from demonstrations have no line: nothing is played.
    """
    with style.figure_style():
        figure, axes = style.make_figure(
            style.WIDE, x="tokens (sampled; of sft, demonstrated)", y="success (share)"
        )
        for number, group in enumerate(groups):
            colour = style.series_colour(number)
            tokens_at = {0: 0.0} | mean_tokens_by_step(group.runs)
            curve = compute_curve(
                group.runs, _played_success, window=smoothing_window(group.runs), points=10**9
            )
            # beyond, seeds would drop out of the mean one by one
            shared_steps = sum(step <= min(run.steps for run in group.runs) for step in curve.steps)
            axes.plot(
                [tokens_at[int(step)] for step in curve.steps[:shared_steps]],
                curve.mean[:shared_steps],
                label=group.label,
                color=colour,
                linestyle=style.series_dash(number),
                linewidth=1.8,
            )
            points = [point for point in evaluation_points(group.runs) if point.step in tokens_at]
            style.plot_intervals(
                axes,
                [tokens_at[point.step] for point in points],
                [point.success for point in points],
                [point.ci95 for point in points],
                colour=colour,
            )
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        style.draw_legend(axes)
    return figure


def mean_tokens_by_step(runs: Sequence[RunData]) -> dict[int, float]:
    """The mean tokens of the runs after each iteration that one of them has done."""
    totals_by_step: dict[int, list[float]] = {}
    for run in runs:
        totals = accumulate(row.get("tokens", 0) for row in run.train)
        for row, total in zip(run.train, totals, strict=True):
            totals_by_step.setdefault(row["step"], []).append(total)
    return {step: fmean(totals) for step, totals in totals_by_step.items()}


def _played_success(row: Row) -> Any:
    return None if row.get("demonstrated_tokens") else row_success(row)
