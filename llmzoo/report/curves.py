"""A run's learning curve as a picture."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no screen is needed
from matplotlib.figure import Figure


def plot_run(run: Path) -> Path:
    """Draw ``metrics.jsonl`` of a run folder into ``curve.png``; returns its path.

    Success in play (smoothed over a tenth of the run) and on held-out tasks with 95% intervals.
    Where others' episodes were learned from, success is theirs; where nothing was played, there is
    no such line.
    """
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    train = [row for row in rows if row["kind"] == "train"]
    evals = [row for row in rows if row["kind"] == "eval"]
    config = json.loads((run / "config.json").read_text())

    figure = Figure(figsize=(7, 4), dpi=130, layout="constrained")
    axes = figure.subplots()
    played = [row for row in train if row["return"]]  # the returns of no episode are no numbers
    steps = [row["step"] for row in played]
    success = [row["success"] for row in played]
    window = max(1, len(played) // 10)
    smooth = [
        sum(success[max(0, i - window + 1) : i + 1]) / len(success[max(0, i - window + 1) : i + 1])
        for i in range(len(success))
    ]
    if played:
        shown = any(row.get("demonstrated_tokens") for row in played)
        where = "of demonstrations" if shown else "in play"
        axes.plot(steps, success, color="#9ecae1", linewidth=0.8, label=f"{where}, each batch")
        axes.plot(steps, smooth, color="#2171b5", linewidth=2, label=f"{where}, mean of {window}")
    rates = [row["success"] for row in evals]
    low = [row["success"] - row["success_ci95"][0] for row in evals]
    high = [row["success_ci95"][1] - row["success"] for row in evals]
    axes.errorbar(
        [row["step"] for row in evals],
        rates,
        yerr=[low, high],
        fmt="o",
        color="#d94801",
        capsize=4,
        label=f"{evals[0]['tasks']} held-out tasks, 95% interval" if evals else None,
    )
    axes.set(
        xlabel="iteration",
        ylabel="success",
        ylim=(-0.02, 1.02),
        title=f"{config['learner']} on {config['env']}, model {config['model']}, seed {config['seed']}",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    path = run / "curve.png"
    figure.savefig(str(path))
    return path
