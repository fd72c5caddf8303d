"""The tables of docs/results/archive/hidden_profile.md: what pairs learn, and how much of the gap they close.

The gap lies between voters who cannot talk (``silent``) and voters who read all facts (``whole``), both trained
like the pairs (``split``). Intervals resample runs and tasks together; runs of different arms are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np
from logs import Row
from readings import in_order, markdown, of_arm

from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval
from llmzoo.evaluation.statistics import mean_returns

NAMES = {
    "split": "split facts, a round of talk",
    "silent": "split facts, no talk",
    "whole": "each reads all facts, no talk",
    "raw": "split facts, a round of talk, from random weights",
}
RESAMPLES = 10_000
GUESS = (
    0.5  # the most that members can reach without talk: the leader is wrong, one of two is right
)
_Marks = list[list[float]]  # of each run and task


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """All arms, the share of the gap that is closed, and the trained pairs in other conditions."""
    return {
        "hidden profile": _arms(rows),
        "hidden profile gap": _gaps(rows),
        "hidden profile conditions": _conditions(rows),
    }


def _arms(rows: Sequence[Row]) -> str:
    lines = []
    for arm in in_order(rows, "arm"):
        runs = of_arm(rows, arm)
        sampled, greedy = _solved(row["after"] for row in runs), _greedy(runs)
        starts = [row["before"] for row in runs]
        cells = [
            f"{fmean(one['success'] for one in starts):.1%} → {_rate(sampled)}",
            f"{fmean(one['greedy']['success'] for one in starts):.1%} → {_rate(greedy)}",
            ", ".join(f"{fmean(run):.1%}" for run in greedy),
            _colder(starts, sampled),
        ]
        lines.append([NAMES[arm], len(runs), *cells])
    head = ["", "runs", "sampled, start → trained", "greedy, start → trained", "greedy, each run"]
    return markdown([*head, "start at T = 0.3 or 0.1, trained at T = 1"], lines)


def _colder(starts: Sequence[Row], sampled: _Marks) -> str:
    """The starts at the better of the lower temperatures, and the trained models on the same tasks."""
    best = [
        max(one["lower_temperatures"].values(), key=lambda found: found["success"])
        for one in starts
    ]
    same = [run[: len(one["solved"])] for run, one in zip(sampled, best, strict=True)]
    return f"{fmean(one['success'] for one in best):.1%}, {_mean(same):.1%}"


def _gaps(rows: Sequence[Row]) -> str:
    arms = [of_arm(rows, arm) for arm in ("silent", "split", "whole")]
    if not all(arms):
        return ""
    measures: Mapping[str, list[_Marks]] = {
        "success, sampled": [_solved(row["after"] for row in runs) for runs in arms],
        "success, greedy": [_greedy(runs) for runs in arms],
        "pay, sampled": [[mean_returns(row["after"]) for row in runs] for runs in arms],
    }
    lines = []
    for measure, (silent, split, whole) in measures.items():
        each = [f"{100 * _mean(arm):.1f}" for arm in (silent, split, whole)]
        guesses = [[GUESS] * len(run) for run in silent]
        shares = [_closed(split, floor, whole) for floor in (silent, guesses)]
        lines.append([measure, *each, *shares])
    head = [
        "trained",
        "no talk",
        "talk",
        "all facts",
        "gap closed",
        f"above guessing ({GUESS:.0%})",
    ]
    return markdown(head, lines)


def _closed(split: _Marks, floor: _Marks, whole: _Marks) -> str:
    share = (_mean(split) - _mean(floor)) / (_mean(whole) - _mean(floor))
    low, high = closed_interval(split, floor, whole)
    return f"{share:.0%} [{low:.0%}, {high:.0%}]"


def closed_interval(split: _Marks, silent: _Marks, whole: _Marks) -> tuple[float, float]:
    """The 95% percentile interval of (split - silent) / (whole - silent), each the mean of runs on the same tasks.

    Tasks are resampled for all arms together, runs for each arm alone.
    """
    rng = np.random.default_rng(0)
    tasks = len(split[0])
    weights = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=RESAMPLES) / tasks
    means = []
    for arm in (split, silent, whole):
        values = np.asarray(arm, dtype=float)
        runs = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=RESAMPLES)
        means.append(np.einsum("rs,rs->r", runs / len(values), weights @ values.T))
    gaps = means[2] - means[1]
    there = gaps != 0.0  # with a handful of tasks some resamples have no gap
    low, high = np.quantile((means[0] - means[1])[there] / gaps[there], [0.025, 0.975])
    return float(low), float(high)


def _conditions(rows: Sequence[Row]) -> str:
    runs = of_arm(rows, "split")
    conditions = {"as trained": _solved(row["after"] for row in runs)}
    for name in runs[0]["also"] if runs else ():
        conditions[name.replace("_", " ")] = _solved(row["also"][name] for row in runs)
    lines = [[name, _rate(found)] for name, found in conditions.items() if found]
    return markdown(["pairs trained with split facts and talk", "success, sampled"], lines)


def _solved(found: Iterable[Row]) -> _Marks:
    return [[float(mark) for mark in one["solved"]] for one in found]


def _greedy(runs: Sequence[Row]) -> _Marks:
    return _solved(row["after"]["greedy"] for row in runs)


def _mean(runs: _Marks) -> float:
    return fmean(map(fmean, runs))


def _rate(runs: _Marks) -> str:
    low, high = crossed_bootstrap_interval(runs)
    return f"{_mean(runs):.1%} [{low:.1%}, {high:.1%}]"
