"""Draws the figures of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.report import style
from llmzoo.report.runs import Row, RunData, is_finite
from llmzoo.report.series import Curve, RunGroup, compute_curve, evaluation_points, smoothing_window

TIME_LABELS = {
    "sampling_seconds": "sampling",
    "stepping_seconds": "stepping environments",
    "rollout_seconds": "playing",  # of runs that do not tell the two above apart
    "update_seconds": "update",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    """One line of a figure: a number of the training rows of some runs."""

    label: str
    runs: Sequence[RunData]
    value: Callable[[Row], Any]


def plot_success(groups: Sequence[RunGroup], size: tuple[float, float] = style.WIDE) -> Figure:
    """Success in training, and on held-out tasks with intervals by distinct tasks."""
    with style.figure_style():
        figure, axes = style.make_figure(size, x=style.ITERATION, y="success (share)")
        for number, group in enumerate(groups):
            _plot_training_success(axes, group, number, alone=len(groups) == 1)
            _plot_held_out(axes, group, number, alone=len(groups) == 1)
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        style.draw_legend(axes)
    return figure


def plot_lines(drawn: Sequence[MetricLine], y: str) -> Figure:
    """Lines smoothed over a tenth of the run; a single run also shows the raw numbers."""
    with style.figure_style():
        figure, axes = style.make_figure(style.SMALL, x=style.ITERATION, y=y)
        for number, line in enumerate(drawn):
            window = smoothing_window(line.runs)
            if len(line.runs) == 1 and window > 1:
                _plot_raw(axes, compute_curve(line.runs, line.value), number, None)
            smooth = compute_curve(line.runs, line.value, window=window)
            _plot_smoothed(axes, smooth, number, line.label if len(drawn) > 1 else None)
        if y.endswith("(share)"):
            axes.set_ylim(-0.02, max(0.1, axes.get_ylim()[1]))
        elif "per second" in y:  # an interval over few seeds may reach below zero
            axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
        style.draw_legend(axes)
    return figure


def plot_group_time(group: RunGroup) -> Figure:
    """The seconds of an iteration, stacked by what they were spent on."""
    with style.figure_style():
        figure, axes = style.make_figure(style.SMALL, x=style.ITERATION, y="time (s per iteration)")
        parts = time_keys(group)
        window = smoothing_window(group.runs)
        # a row without one of them, of a run that was resumed with a newer version, has 0 of it
        curves = [
            compute_curve(group.runs, partial(_or_zero, key=key), window=window) for key in parts
        ]
        axes.stackplot(
            curves[0].steps,
            [one.mean for one in curves],
            labels=[TIME_LABELS[key] for key in parts],
            colors=[style.series_colour(n) for n in range(len(parts))],
            alpha=0.75,
        )
        style.draw_legend(axes)
    return figure


def plot_mean_times(groups: Sequence[RunGroup], size: tuple[float, float] = style.WIDE) -> Figure:
    """Mean seconds of an iteration of each group, as bars."""
    with style.figure_style():
        tall = size[0], 1.5 + 0.42 * len(groups)
        figure, axes = style.make_figure(tall, x="time (s per iteration, mean)", y="")
        keys = [key for key in TIME_LABELS if any(key in time_keys(group) for group in groups)]
        left = [0.0] * len(groups)
        for number, key in enumerate(keys):
            means = [_mean_time(group, key) for group in groups]
            axes.barh(
                range(len(groups)),
                means,
                left=left,
                height=0.55,
                alpha=0.8,
                color=style.series_colour(number),
                label=TIME_LABELS[key],
            )
            left = [a + b for a, b in zip(left, means, strict=True)]
        axes.set_yticks(range(len(groups)), [style.shorten(group.label) for group in groups])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        style.draw_legend(axes)
    return figure


def time_keys(group: RunGroup) -> list[str]:
    """The keys of :data:`TIME_LABELS` in the rows of a group, without overlapping times."""
    present = {key for run in group.runs for row in run.train for key in row}
    fine = {"sampling_seconds", "stepping_seconds"} <= present
    skipped = {"rollout_seconds"} if fine else {"sampling_seconds", "stepping_seconds"}
    return [key for key in TIME_LABELS if key in present - skipped]


def _plot_training_success(axes: Axes, group: RunGroup, number: int, *, alone: bool) -> None:
    window = smoothing_window(group.runs)
    smooth = compute_curve(group.runs, row_success, window=window)
    if not smooth:
        return
    shown = any(row.get("demonstrated_tokens") for run in group.runs for row in run.train)
    where = "of demonstrations" if shown else _training_success_label(group)
    if alone and len(group.runs) == 1 and window > 1:
        _plot_raw(axes, compute_curve(group.runs, row_success), number, f"{where}, each batch")
    name = "" if alone else f"{group.label}, "
    mean = f", mean of {window}" if window > 1 else ""
    seeds = f", {len(group.runs)} seeds" if len(group.runs) > 1 else ""
    _plot_smoothed(axes, smooth, number, f"{name}{where}{mean}{seeds}")


def _training_success_label(group: RunGroup) -> str:
    """``in play``; where the best of several answers is carried out, the curve is not the policy's own."""
    options = group.runs[0].config.get("learner_args", {})
    best = options.get("select") == "greedy"
    return "in play, best answers" if best else "in play"


def _plot_held_out(axes: Axes, group: RunGroup, number: int, *, alone: bool) -> None:
    points = evaluation_points(group.runs)
    if not points:
        return
    first = {"tasks": points[0].tasks, "split_tasks": points[0].split_tasks}
    tasks = f"{format_task_count(first)} held-out tasks, 95% interval"
    style.plot_intervals(
        axes,
        [point.step for point in points],
        [point.success for point in points],
        [point.ci95 for point in points],
        colour=style.SERIES[1] if alone else style.series_colour(number),
        label=tasks if alone else None,
    )


def _plot_raw(axes: Axes, drawn: Curve, number: int, label: str | None) -> None:
    colour = style.series_colour(number)
    axes.plot(drawn.steps, drawn.mean, label=label, color=colour, linewidth=0.8, alpha=0.35)


def _plot_smoothed(axes: Axes, drawn: Curve, number: int, label: str | None) -> None:
    colour = style.series_colour(number)
    if drawn.low != drawn.high:
        axes.fill_between(drawn.steps, drawn.low, drawn.high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        drawn.steps,
        drawn.mean,
        label=label,
        color=colour,
        linewidth=1.8,
        linestyle=style.series_dash(number),
        marker="o" if len(drawn.steps) == 1 else None,
    )


def _mean_time(group: RunGroup, key: str) -> float:
    if key not in time_keys(group):
        return 0.0
    times = [row[key] for run in group.runs for row in run.train if is_finite(row.get(key))]
    return sum(times) / len(times) if times else 0.0


def row_success(row: Row) -> Any:
    """The success of an iteration; None if nothing was played."""
    return row.get("success") if row.get("return") else None


def _or_zero(row: Row, key: str) -> float:
    value = row.get(key)
    return value if value is not None and is_finite(value) else 0.0
