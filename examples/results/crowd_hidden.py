"""The tables of the hidden profile in docs/results/crowd.md: what pairs learn, and how much of the gap they close.

The gap lies between voters who cannot talk (``silent``) and voters who read all facts (``whole``), both trained
alike. Intervals resample runs and tasks together; runs of different arms are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np
from logs import Row
from readings import in_order, markdown, of_arm

from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval
from llmzoo.evaluation.statistics import mean_returns

SILENT, SPLIT, WHOLE = "silent", "split", "whole"
NAMES = {
    SPLIT: "split facts, one round of talk",
    SILENT: "split facts, no talk",
    WHOLE: "each reads all facts, no talk",
}
LEARNERS = {"magrpo": "MAGRPO", "at_grpo": "AT-GRPO"}
RESAMPLES = 10_000


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """All arms, the share of the gap that is closed, and the trained pairs in other conditions."""
    return {
        "hidden profile": _arms(rows),
        "hidden profile gap": _gaps(rows),
        "hidden profile conditions": _conditions(rows),
    }


def starts(rows: Sequence[Row]) -> dict[str, str]:
    """What imitation made of random weights."""
    lines = []
    for row in rows:
        both = [(row[when]["success"], row[when]["greedy"]["success"]) for when in _WHEN]
        cells = [f"{value:.1%}" for pair in both for value in pair]
        lines.append([f"`{row['model']}`", *cells, f"{row['tokens'] / 1000:,.0f}k"])
    head = ["start", "untrained, sampled", "greedy", "after imitation, sampled", "greedy"]
    return {"hidden profile starts": markdown([*head, "demonstrated tokens"], lines)}


_WHEN = ("before", "after")


def votes(row: Row, when: str = "after") -> list[float]:
    """What a member earns in each test task: the share of right votes, less 0.05 for each malformed action."""
    return mean_returns(row[when])


def _arms(rows: Sequence[Row]) -> str:
    lines = []
    for arm in in_order(rows, "arm"):
        runs = of_arm(rows, arm)
        facts, learner = _named(arm)
        colder = [
            max(one["success"] for one in row["before"]["lower_temperatures"].values())
            for row in runs
        ]
        start = [fmean(row["before"]["success"] for row in runs), fmean(colder)]
        start += [fmean(row["before"]["greedy"]["success"] for row in runs)]
        ended = [_marks(row["after"]["solved"]) for row in runs]
        greedy = [_marks(row["after"]["greedy"]["solved"]) for row in runs]
        paid = fmean(map(fmean, (votes(row, "before") for row in runs)))
        cells = [*(f"{value:.1%}" for value in start), _mean(ended), _mean(greedy)]
        lines.append(
            [facts, learner, len(runs), *cells, f"{paid:.2f} → {_plain([votes(r) for r in runs])}"]
        )
    head = ["", "learner", "runs", "start: sampled", "start: T = 0.3 or 0.1", "start: greedy"]
    return markdown([*head, "trained: sampled", "trained: greedy", "pay, start → trained"], lines)


def _gaps(rows: Sequence[Row]) -> str:
    lines = []
    for learner, name in LEARNERS.items():
        arms = [of_arm(rows, _arm(facts, learner)) for facts in (SPLIT, SILENT, WHOLE)]
        if not all(arms):
            continue
        measures = {
            "success, sampled": [[_marks(r["after"]["solved"]) for r in arm] for arm in arms],
            "success, greedy": [
                [_marks(r["after"]["greedy"]["solved"]) for r in arm] for arm in arms
            ],
            "pay, sampled": [[votes(r) for r in arm] for arm in arms],
        }
        for measure, found in measures.items():
            split, silent, whole = (fmean(map(fmean, arm)) for arm in found)
            low, high = closed_interval(*found)
            share = (split - silent) / (whole - silent)
            each = [f"{100 * value:.1f}" for value in (silent, split, whole)]
            lines.append([name, measure, *each, f"{share:.0%} [{low:.0%}, {high:.0%}]"])
    head = ["learner", "measure, in percent", "no talk", "talk", "all facts", "gap closed"]
    return markdown(head, lines)


def closed_interval(
    split: Sequence[Sequence[float]],
    silent: Sequence[Sequence[float]],
    whole: Sequence[Sequence[float]],
) -> tuple[float, float]:
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
    low, high = np.quantile((means[0] - means[1]) / (means[2] - means[1]), [0.025, 0.975])
    return float(low), float(high)


def _conditions(rows: Sequence[Row]) -> str:
    lines = []
    for learner, name in LEARNERS.items():
        runs = of_arm(rows, _arm(SPLIT, learner))
        if not runs:
            continue
        conditions: Mapping[str, list[list[float]]] = {
            "as trained": [_marks(row["after"]["solved"]) for row in runs],
            **{
                condition: [_marks(row["also"][condition]["solved"]) for row in runs]
                for condition in runs[0]["also"]
            },
        }
        lines += [
            [name, condition.replace("_", " "), _mean(found)]
            for condition, found in conditions.items()
        ]
    return markdown(["learner", "pairs trained with talk, played with", "success, sampled"], lines)


def _named(arm: str) -> tuple[str, str]:
    facts, _, learner = arm.partition("_")
    return NAMES[facts], LEARNERS[learner]


def _arm(facts: str, learner: str) -> str:
    return f"{facts}_{learner}"


def _marks(solved: str) -> list[float]:
    return [float(mark) for mark in solved]


def _mean(runs: Sequence[Sequence[float]]) -> str:
    low, high = crossed_bootstrap_interval(runs)
    return f"{fmean(map(fmean, runs)):.1%} [{low:.1%}, {high:.1%}]"


def _plain(runs: Sequence[Sequence[float]]) -> str:
    low, high = crossed_bootstrap_interval(runs)
    return f"{fmean(map(fmean, runs)):.2f} [{low:.2f}, {high:.2f}]"
