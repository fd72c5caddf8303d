"""Draws the figures of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from llmzoo.evaluation.evaluate import counted
from llmzoo.report import style
from llmzoo.report.runs import Row, RunData, is_finite
from llmzoo.report.series import Curve, RunGroup, curve, evaluations, window_of

TIMES = {
    "sampling_seconds": "sampling",
    "stepping_seconds": "stepping environments",
    "rollout_seconds": "playing",  # of runs that do not tell the two above apart
    "update_seconds": "update",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a figure: a number of the training rows of some runs."""

    label: str
    runs: Sequence[RunData]
    value: Callable[[Row], Any]


def success(groups: Sequence[RunGroup], size: tuple[float, float] = style.WIDE) -> Figure:
    """Success in training, and on held-out tasks with intervals by distinct tasks."""
    with style.styled():
        figure, axes = style.blank(size, x=style.ITERATION, y="success (share)")
        for number, group in enumerate(groups):
            _success_in_play(axes, group, number, alone=len(groups) == 1)
            _held_out(axes, group, number, alone=len(groups) == 1)
        axes.set_ylim(-0.03, 1.03)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        style.legend(axes)
    return figure


def lines(drawn: Sequence[Line], y: str) -> Figure:
    """Lines smoothed over a tenth of the run; a single run also shows the raw numbers."""
    with style.styled():
        figure, axes = style.blank(style.SMALL, x=style.ITERATION, y=y)
        for number, line in enumerate(drawn):
            window = window_of(line.runs)
            if len(line.runs) == 1 and window > 1:
                _thin(axes, curve(line.runs, line.value), number, None)
            smooth = curve(line.runs, line.value, window=window)
            _thick(axes, smooth, number, line.label if len(drawn) > 1 else None)
        if y.endswith("(share)"):
            axes.set_ylim(-0.02, max(0.1, axes.get_ylim()[1]))
        elif "per second" in y:  # an interval over few seeds may reach below zero
            axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
        style.legend(axes)
    return figure


def time_of_group(group: RunGroup) -> Figure:
    """The seconds of an iteration, stacked by what they were spent on."""
    with style.styled():
        figure, axes = style.blank(style.SMALL, x=style.ITERATION, y="time (s per iteration)")
        parts = time_parts(group)
        window = window_of(group.runs)
        # a row without one of them, of a run that was resumed with a newer version, has 0 of it
        curves = [curve(group.runs, partial(_or_zero, key=key), window=window) for key in parts]
        axes.stackplot(
            curves[0].steps,
            [one.mean for one in curves],
            labels=[TIMES[key] for key in parts],
            colors=[style.colour(n) for n in range(len(parts))],
            alpha=0.75,
        )
        style.legend(axes)
    return figure


def time_of_groups(groups: Sequence[RunGroup], size: tuple[float, float] = style.WIDE) -> Figure:
    """Mean seconds of an iteration of each group, as bars."""
    with style.styled():
        tall = size[0], 1.5 + 0.42 * len(groups)
        figure, axes = style.blank(tall, x="time (s per iteration, mean)", y="")
        keys = [key for key in TIMES if any(key in time_parts(group) for group in groups)]
        left = [0.0] * len(groups)
        for number, key in enumerate(keys):
            means = [_mean_time(group, key) for group in groups]
            axes.barh(
                range(len(groups)),
                means,
                left=left,
                height=0.55,
                alpha=0.8,
                color=style.colour(number),
                label=TIMES[key],
            )
            left = [a + b for a, b in zip(left, means, strict=True)]
        axes.set_yticks(range(len(groups)), [style.shortened(group.label) for group in groups])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        style.legend(axes)
    return figure


def time_parts(group: RunGroup) -> list[str]:
    """The keys of :data:`TIMES` in the rows of a group, without overlapping times."""
    present = {key for run in group.runs for row in run.train for key in row}
    fine = {"sampling_seconds", "stepping_seconds"} <= present
    skipped = {"rollout_seconds"} if fine else {"sampling_seconds", "stepping_seconds"}
    return [key for key in TIMES if key in present - skipped]


def _success_in_play(axes: Axes, group: RunGroup, number: int, *, alone: bool) -> None:
    window = window_of(group.runs)
    smooth = curve(group.runs, success_of, window=window)
    if not smooth:
        return
    shown = any(row.get("demonstrated_tokens") for run in group.runs for row in run.train)
    where = "of demonstrations" if shown else _in_play(group)
    if alone and len(group.runs) == 1 and window > 1:
        _thin(axes, curve(group.runs, success_of), number, f"{where}, each batch")
    name = "" if alone else f"{group.label}, "
    mean = f", mean of {window}" if window > 1 else ""
    seeds = f", {len(group.runs)} seeds" if len(group.runs) > 1 else ""
    _thick(axes, smooth, number, f"{name}{where}{mean}{seeds}")


def _in_play(group: RunGroup) -> str:
    """``in play``; where the best of several answers is carried out, the curve is not the policy's own."""
    options = group.runs[0].config.get("learner_args", {})
    best = options.get("select") == "greedy"
    return "in play, best answers" if best else "in play"


def _held_out(axes: Axes, group: RunGroup, number: int, *, alone: bool) -> None:
    points = evaluations(group.runs)
    if not points:
        return
    first = {"tasks": points[0].tasks, "split_tasks": points[0].split_tasks}
    tasks = f"{counted(first)} held-out tasks, 95% interval"
    style.intervals(
        axes,
        [point.step for point in points],
        [point.success for point in points],
        [point.ci95 for point in points],
        colour=style.SERIES[1] if alone else style.colour(number),
        label=tasks if alone else None,
    )


def _thin(axes: Axes, drawn: Curve, number: int, label: str | None) -> None:
    colour = style.colour(number)
    axes.plot(drawn.steps, drawn.mean, label=label, color=colour, linewidth=0.8, alpha=0.35)


def _thick(axes: Axes, drawn: Curve, number: int, label: str | None) -> None:
    colour = style.colour(number)
    if drawn.low != drawn.high:
        axes.fill_between(drawn.steps, drawn.low, drawn.high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        drawn.steps,
        drawn.mean,
        label=label,
        color=colour,
        linewidth=1.8,
        linestyle=style.dash(number),
        marker="o" if len(drawn.steps) == 1 else None,
    )


def _mean_time(group: RunGroup, key: str) -> float:
    if key not in time_parts(group):
        return 0.0
    times = [row[key] for run in group.runs for row in run.train if is_finite(row.get(key))]
    return sum(times) / len(times) if times else 0.0


def success_of(row: Row) -> Any:
    """The success of an iteration; None if nothing was played."""
    return row.get("success") if row.get("return") else None


def _or_zero(row: Row, key: str) -> float:
    value = row.get(key)
    return value if value is not None and is_finite(value) else 0.0
