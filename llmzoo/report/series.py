"""Compares runs: groups of seeds, curves with intervals, differing settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from llmzoo.evaluation.statistics import pool_success
from llmzoo.report.runs import Row, RunData, is_finite
from llmzoo.runs.run_folder import PLACEMENT, flatten

MAX_POINTS = 400  # maximum points of a curve; longer curves are averaged over equal stretches
MIN_SEEDS = 3  # fewest runs for an interval over runs
_IGNORED_SETTINGS = {"seed", *PLACEMENT}  # settings that may differ within a group

# the 97.5% quantile of Student's t distribution for 1 to 30 degrees of freedom
_T_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGroup:
    """Runs that differ only in their seeds. ``label`` is unique in the report."""

    label: str
    env: str
    runs: tuple[RunData, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A number over the iterations: the mean over runs, with its 95% interval of Student's t.

    If fewer than three runs have the number, ``low`` and ``high`` equal the mean. Iterations without
    the number are left out.
    """

    steps: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPoint:
    """The evaluations of all runs of a group after ``step`` iterations."""

    step: int
    success: float
    ci95: tuple[float, float]  # by distinct tasks
    tasks: int  # distinct ones
    split_tasks: int | None = None  # that the split has


def group_runs(runs: Sequence[RunData]) -> list[RunGroup]:
    """Groups of runs with the same settings, in the order of their first runs."""
    members: dict[str, list[RunData]] = {}
    for run in runs:
        same = {k: v for k, v in run.config.items() if k not in _IGNORED_SETTINGS}
        members.setdefault(json.dumps(same, sort_keys=True), []).append(run)
    sets = list(members.values())
    named = group_labels([part[0].config for part in sets], [part[0].name for part in sets])
    return [
        RunGroup(label=label, env=str(part[0].config["env"]), runs=tuple(part))
        for label, part in zip(named, sets, strict=True)
    ]


def differing_settings(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The settings that differ between configurations, with all their values; None if unset."""
    flattened = [dict(flatten(config, ".")) for config in configs]
    names = dict.fromkeys(name for one in flattened for name in one)
    values = {name: [one.get(name) for one in flattened] for name in names}
    return {k: v for k, v in values.items() if any(value != v[0] for value in v)}


def compute_curve(
    runs: Sequence[RunData],
    value: Callable[[Row], Any],
    *,
    window: int = 1,
    points: int = MAX_POINTS,
) -> Curve:
    """``value`` of the training rows, without missing or infinite numbers.

    ``window``: iterations of the running mean that is taken within each run.
    """
    values_by_step: dict[int, list[float]] = {}
    for run in runs:
        pairs = [(row["step"], value(row)) for row in run.train]
        finite = [(step, float(v)) for step, v in pairs if is_finite(v)]
        smooth = running_mean([v for _, v in finite], window)
        for (step, _), v in zip(finite, smooth, strict=True):
            values_by_step.setdefault(step, []).append(v)
    steps = sorted(values_by_step)
    intervals = [student_t_interval(values_by_step[step]) for step in steps]
    columns = [[float(s) for s in steps], *([m[i] for m in intervals] for i in range(3))]
    x, mean, low, high = (tuple(downsample(column, points)) for column in columns)
    return Curve(steps=x, mean=mean, low=low, high=high)


def evaluation_points(runs: Sequence[RunData]) -> list[EvaluationPoint]:
    """Mean success on held-out tasks over runs, with its interval by distinct tasks."""
    rows: dict[int, list[Row]] = {}
    for run in runs:
        for row in run.evals:
            if is_finite(row.get("success")) and row.get("tasks"):
                rows.setdefault(row["step"], []).append(row)
    points = []
    for step, measured in sorted(rows.items()):
        rate, ci95 = pool_success(measured)
        most = max(measured, key=lambda row: row["tasks"])
        whole = most.get("split_tasks")
        point = EvaluationPoint(
            step=step, success=rate, ci95=ci95, tasks=most["tasks"], split_tasks=whole
        )
        points.append(point)
    return points


def student_t_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean and its 95% interval by Student's t distribution.

    Fewer than three values give an interval of width 0, since that of two, 12.7 standard errors on each side,
    says nothing.
    """
    mean = fmean(values)
    if len(values) < MIN_SEEDS:
        return mean, mean, mean
    quantile = _T_QUANTILES[len(values) - 2] if len(values) - 2 < len(_T_QUANTILES) else 1.96
    half = quantile * stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The running mean of the last ``window`` values, of fewer at the start."""
    means = []
    for end in range(1, len(values) + 1):
        part = values[max(0, end - window) : end]
        means.append(fmean(part))
    return means


def downsample(values: Sequence[float], points: int) -> list[float]:
    """At most ``points`` values: means of equal stretches, the last of which may be shorter."""
    length = max(1, math.ceil(len(values) / points))
    return [fmean(values[i : i + length]) for i in range(0, len(values), length)]


def smoothing_window(runs: Sequence[RunData]) -> int:
    """The window of running means: a tenth of the longest run."""
    return max(1, max((len(run.train) for run in runs), default=0) // 10)


def sort_agents(agents: Iterable[str]) -> list[str]:
    """Agents sorted by the numbers at the ends of their names, in the order of play."""
    numbered = {agent: re.search(r"\d+$", agent) for agent in agents}
    return sorted(numbered, key=lambda a: (int(n[0]) if (n := numbered[a]) else math.inf, a))


def group_labels(settings: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """The learner and the differing settings of each group; its name if these are many.

    ``settings``: of each group's first run. ``names``: of these runs.
    """
    configs = [
        {k: v for k, v in config.items() if k not in _IGNORED_SETTINGS} for config in settings
    ]
    found = []
    for config, name in zip(configs, names, strict=True):
        same_env = [other for other in configs if other["env"] == config["env"]]
        same_learner = [other for other in same_env if other["learner"] == config["learner"]]
        own = dict(flatten(config, "."))
        setting_texts = [
            f"{k.rpartition('.')[2]}={own.get(k)}" for k in differing_settings(same_learner)
        ]
        learner = (
            [str(config["learner"])]
            if len(same_learner) < len(same_env) or not setting_texts
            else []
        )
        found.append(", ".join([*learner, *setting_texts]) if len(setting_texts) <= 3 else name)
    return found
