"""The tables and the figure of docs/results/anchors.md, from the log of :mod:`anchors`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

import numpy as np
from anchors import ARMS, LAST_STEPS, LOG, RATE, RATES, UPDATES, plain_arms
from logs import Row, read_rows
from matplotlib.figure import Figure
from readings import markdown

from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval

NAMES = {
    "ours_2": "llmzoo, MAGRPO",
    "comlrl": "comlrl",
    "comlrl_mask": "comlrl, without padding in the loss",
    "ours_as_comlrl": "llmzoo, with comlrl's settings",
    "ours_1": "llmzoo, GRPO",
    "trl": "TRL",
    "trl_schedule": "TRL, with a constant learning rate",
    "ours_as_trl": "llmzoo, with TRL's settings",
    "ours_token_mean": "llmzoo, with TRL's weight of a completion",
    "ours_linear": "llmzoo, with TRL's falling learning rate",
}
SWITCHES = {
    "mask": "tokens in the loss",
    "std": "advantage",
    "clip": "gradient norm",
    "adam": "AdamW",
    "loss": "weight of a completion",
    "schedule": "learning rate",
}
OPTIONS = {"max_grad_norm": "no clipping"}  # where the value says less
# of lines in the figure: llmzoo, the peer, the peer without padding or with a constant rate, llmzoo with the peer's settings
COLOURS = {
    "ours_2": "#d9730d",
    "ours_1": "#d9730d",
    "comlrl": "#4285c8",
    "trl": "#4285c8",
    "comlrl_mask": "#3c9d5b",
    "trl_schedule": "#3c9d5b",
    "ours_as_comlrl": "#9aa0a6",
    "ours_as_trl": "#9aa0a6",
}


def read(logs: Path) -> list[Row]:
    return read_rows(logs / LOG.name)


def tables(logs: Path) -> dict[str, str]:
    """The tables by name; none without the log."""
    rows = read(logs)
    if not rows:
        return {}
    return {
        "anchors updates": updates_table(rows),
        "anchors rates": rates_table(rows),
        "anchors runs": runs_table(rows),
        "anchors differences": differences_table(rows),
    }


def runs_of(rows: Sequence[Row], arm: str, rate: float) -> list[Row]:
    """The runs of an arm with a learning rate, by seed."""
    found = [row for row in rows if row["kind"] == "run" and row["arm"] == arm]
    return sorted(
        (row for row in found if row["task"]["rate"] == rate), key=lambda row: row["seed"]
    )


def updates_table(rows: Sequence[Row]) -> str:
    """How far the first gradient and the weights after some steps are from ours, by what is switched."""
    lines = []
    known = {row["name"]: row for row in rows if row["kind"] == "update"}
    for number, (peer, switches, ours) in enumerate(UPDATES):
        row = known.get(f"update-{number}")
        if row is None:
            continue
        name = {"comlrl": "comlrl", "trl": "TRL"}[peer]
        every = len(switches) == 4
        changed = "all of these" if every else ", ".join(SWITCHES[one] for one in switches)
        options = ", ".join(OPTIONS.get(key, f"`{key}={value}`") for key, value in ours.items())
        numbers = [f"{1 - row['cosine']:.1g}", f"{row['ratio']:.4g}", f"{row['weights']:.1g}"]
        lines.append([name, changed or "nothing", options or "defaults", *numbers])
    head = ["peer", "as in llmzoo", "settings of llmzoo"]
    return markdown([*head, "1 - cosine", "ratio of norms", "weights"], lines)


def rates_table(rows: Sequence[Row]) -> str:
    """The mean return in the last steps at each learning rate."""
    lines = []
    for arm in plain_arms():
        found = {
            row["rate"]: fmean(point["return"] for point in row["curve"][-LAST_STEPS:])
            for row in rows
            if row["kind"] == "rate" and row["arm"] == arm
        }
        lines.append([NAMES[arm], *(f"{found[rate]:.3f}" for rate in RATES)])
    return markdown(["", *(f"{rate:g}" for rate in RATES)], lines)


def runs_table(rows: Sequence[Row]) -> str:
    """Success on held-out tasks of each run, and what a run costs."""
    lines: list[list[object]] = []
    for agents in (2, 1):
        start = next(r for r in rows if r["kind"] == "start" and r["agents"] == agents)
        cells = [percent([start], "sampled"), percent([start], "greedy")]
        lines.append([f"before training, {agents} agent{'s' * (agents > 1)}", "", *cells, "", ""])
        for arm, one in ARMS.items():
            for rate in one.rates:
                found = runs_of(rows, arm, rate)
                if one.agents == agents and found:
                    lines.append(_run_cells(arm, rate, found))
    head = ["", "rate", "sampled", "greedy", "tokens", "CPU time"]
    return markdown(head, lines)


def _run_cells(arm: str, rate: float, found: Sequence[Row]) -> list[object]:
    tokens = fmean(row["tokens"] for row in found)
    seconds = fmean(row["curve"][-1]["cpu_seconds"] for row in found)
    cells = [percent(found, decoding) for decoding in ("sampled", "greedy")]
    return [NAMES[arm], f"{rate:g}", *cells, f"{tokens / 1000:.0f}k", f"{seconds:.0f} s"]


def percent(found: Sequence[Row], decoding: str) -> str:
    """The mean success in percent, its interval over runs and tasks, and each run."""
    each = [f"{100 * row[decoding]['success']:.1f}" for row in found]
    if len(found) == 1:
        return each[0]
    mean = 100 * fmean(row[decoding]["success"] for row in found)
    low, high = crossed_bootstrap_interval([marks(row, decoding) for row in found])
    return f"{mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]: {', '.join(each)}"


def marks(row: Row, decoding: str) -> list[float]:
    return [float(mark) for mark in row[decoding]["solved"]]


def differences_table(rows: Sequence[Row]) -> str:
    """Each arm minus ours at the same learning rate, from runs with the same seeds."""
    lines = []
    for arm, one in ARMS.items():
        ours = f"ours_{one.agents}"
        for rate in one.rates if arm != ours else ():
            pairs = [
                (mine, theirs)
                for mine in runs_of(rows, ours, rate)
                for theirs in runs_of(rows, arm, rate)
                if mine["seed"] == theirs["seed"]
            ]
            if len(pairs) > 1:
                cells = [difference(pairs, decoding) for decoding in ("sampled", "greedy")]
                lines.append([NAMES[arm], one.agents, f"{rate:g}", len(pairs), *cells])
    head = ["minus llmzoo", "agents", "rate", "pairs", "sampled, points", "greedy, points"]
    return markdown(head, lines)


def difference(pairs: Sequence[tuple[Row, Row]], decoding: str) -> str:
    """Theirs minus ours in points, with the interval over runs and tasks."""
    found = [
        [b - a for a, b in zip(marks(mine, decoding), marks(theirs, decoding), strict=True)]
        for mine, theirs in pairs
    ]
    low, high = crossed_bootstrap_interval(found)
    mean = fmean(value for run in found for value in run)
    return f"{100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def figure(logs: Path, path: Path) -> None:
    """Returns in training over tokens and over CPU seconds, at the same learning rate."""
    rows = read(logs)
    if not rows:
        return
    picture = Figure(figsize=(9, 6), dpi=130, layout="constrained")
    panels = picture.subplots(2, 2, sharey="row")
    for line, agents in zip(panels, (2, 1), strict=True):
        for axes, unit in zip(line, ("tokens", "seconds"), strict=True):
            for arm, colour in COLOURS.items():
                found = runs_of(rows, arm, RATE)
                if ARMS[arm].agents != agents or not found:
                    continue
                curves = np.array([over(row, unit) for row in found])  # [runs, 2, steps]
                for places, returns in curves:
                    axes.plot(places, returns, color=colour, alpha=0.25, linewidth=0.8)
                places, returns = curves.mean(axis=0)
                axes.plot(places, returns, color=colour, label=NAMES[arm])
            axes.grid(alpha=0.3)
        line[0].set_title(f"{agents} agent{'s' * (agents > 1)}", loc="left", fontsize=10)
        line[0].legend(fontsize=8)
    panels[1][0].set_xlabel("thousand sampled tokens", fontsize=9)
    panels[1][1].set_xlabel("CPU seconds of the trainer", fontsize=9)
    picture.supylabel("mean return of a step's completions", fontsize=9)
    picture.savefig(str(path))


def over(row: Row, unit: str) -> tuple[list[float], list[float]]:
    """A run's places (thousand tokens, or CPU seconds) and mean returns of its steps."""
    if unit == "tokens":
        places = [total / 1000 for total in accumulate(p["tokens"] for p in row["curve"])]
    else:
        places = [point["cpu_seconds"] for point in row["curve"]]
    return places, [point["return"] for point in row["curve"]]
