"""The figures of docs/results/, made from the same logs as the tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

import anchor_tables
import by_learner
import cell_runs
import counterfactual
import delegation
import equilibria
import gains
import long_runs
import matplotlib
import philosophers_tables
import several
import tic_tac_toe

matplotlib.use("Agg")  # no screen is needed
from logs import Row, read_log
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pretrained import ARMS
from readings import by_task, controlled, curves, in_order, of_arm, ways

from llmzoo.evaluation.statistics import pool_success

_NONE, _ONE, _TWO = "#9aa0a6", "#4285c8", "#d9730d"  # no RL, one agent, two agents


def draw(logs: Path, out: Path) -> None:
    """A picture for each study whose log is there."""
    pictures = {
        "games": games,
        "learners": by_learner.figure,
        "sensitivity": sensitivity,
        "smollm2": smollm2,
        "kuhn": equilibria.figure,
        "tic_tac_toe": tic_tac_toe.figure,
        "counterfactual": counterfactual.figure,
        "cells": cell_runs.starts_figure,
        "games_cells": cell_runs.runs_figure,
        "games_cells_long": long_runs.figure,
        "games_long": long_runs.figure,
        "several": several.figure,
        "several_longer": several.figure,
        "crowd_delegation": delegation.figure,
    }
    for study, make in pictures.items():
        log = logs / f"{study}.jsonl.gz"
        if log.exists():
            make(read_log(log), out / f"results_{study}.png")
    gains.figure(logs, out / "results_gains.png")
    philosophers_tables.figure(logs, out / "results_philosophers.png")
    anchor_tables.figure(logs, out / "results_anchors.png")


def games(rows: Sequence[Row], path: Path) -> None:
    """Success on held-out tasks, a panel for each game with controls, a bar for each way to train."""
    tasks = by_task(controlled(rows))
    figure = Figure(figsize=(4 * len(tasks) + 3.5, 4.2), dpi=130, layout="constrained")
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, (task, mine) in zip(panels, tasks.items(), strict=True):
        _bars(axes, mine)
        axes.set_title(task)
    panels[0].invert_yaxis()
    figure.supxlabel(
        "success on held-out tasks, sampled; bars are 95% intervals by distinct tasks", fontsize=9
    )
    figure.savefig(str(path))


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    labels = []
    for place, way in enumerate(ways(rows)):
        trained = _ONE if way.agents == 1 else _TWO
        _bar(axes, place, way.measured, trained if way.trained else _NONE)
        count = "one agent" if way.agents == 1 else "two agents"
        labels.append(way.name if way.trained else f"{count}, {way.name}")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlim(0, 1.15)  # room for the numbers
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="x", alpha=0.3)


def _bar(axes: Axes, place: int, found: Sequence[Row], colour: str) -> None:
    value, (low, high) = pool_success(found) if found else (0.0, (0.0, 0.0))
    axes.barh(place, value, color=colour, xerr=[[value - low], [high - value]], capsize=3)
    text = f"{value:.0%}" if found else "not run"
    axes.text(high + 0.02, place, text, va="center", fontsize=8)


def sensitivity(rows: Sequence[Row], path: Path) -> None:
    """A curve for each setting."""
    found = curves(rows)
    figure = Figure(figsize=(12, 3), dpi=130, layout="constrained")
    titles = {
        "K": "answers to a prompt (K)",
        "rounds": "rounds of an episode",
        "alpha": "weight of the team reward",
        "agents": "agents (sums)",
    }
    for axes, (name, points) in zip(figure.subplots(1, 4, sharey=True), found.items(), strict=True):
        if points:
            values, rates, spans = zip(*points, strict=True)
            errors = [
                [r - low for r, (low, _) in zip(rates, spans, strict=True)],
                [high - r for r, (_, high) in zip(rates, spans, strict=True)],
            ]
            axes.errorbar(values, rates, yerr=errors, marker="o", capsize=3, color=_TWO)
            axes.set_xticks(values)
        axes.set_xlabel(titles[name])
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
    figure.supylabel("success after training", fontsize=9)
    figure.savefig(str(path))


def smollm2(rows: Sequence[Row], path: Path) -> None:
    """Returns during training, a panel for each task and a line for each run."""
    tasks = by_task(rows)
    figure = Figure(figsize=(3.4 * len(tasks) + 0.6, 3.4), dpi=130, layout="constrained")
    for axes, (task, mine) in zip(
        figure.subplots(1, len(tasks), squeeze=False)[0], tasks.items(), strict=True
    ):
        for arm, style in zip(in_order(mine, "arm"), ("-", "--", ":"), strict=False):
            name, agents = ARMS[arm]
            for number, row in enumerate(of_arm(mine, arm)):
                tokens = accumulate(point["tokens"] for point in row["curve"])
                returns = [fmean(point["return"].values()) for point in row["curve"]]
                label = f"{agents} agent{'s' * (agents > 1)}: {name}" if number == 0 else None
                colour = _ONE if agents == 1 else _TWO
                axes.plot([t / 1000 for t in tokens], returns, style, color=colour, label=label)
        axes.set_title(task)
        axes.set_xlabel("thousand sampled tokens", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.supylabel("return of an episode, mean of its agents", fontsize=9)
    figure.savefig(str(path))
