"""Every learner on every environment: the tables of the runs and of their learning rates, and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

import numpy as np
from logs import Row, read_log
from matplotlib.figure import Figure
from readings import by_task, in_order, markdown, of_arm, rate

from llmzoo.evaluation.statistics import pool_success

ALONE = ("grpo", "ppo")  # play with one agent
COLOURS = {  # of lines: those that learn from groups of answers, with critics, from preferences
    "#d9730d": ("mareinforce", "magrpo", "marloo", "maremax", "at_grpo", "grpo"),
    "#4285c8": ("ippo", "mappo", "iac", "maac", "ppo"),
    "#3c9d5b": ("dpo", "madpo"),
}
_STYLES = ("-", "--", "-.", ":", (0, (1, 3)), (0, (6, 2, 1, 2, 1, 2)))
_POINTS = 60  # of a line; each is the mean of a tenth of the tokens


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Success on held-out tasks after training, by learner and environment, and before it."""
    tasks = by_task(rows)
    seeds = len({row["seed"] for row in rows})
    lines = []
    for agents, alone in (("two agents", False), ("one agent", True)):
        starts = [
            [row for row in mine if "before" in row and (row["arm"] in ALONE) == alone]
            for mine in tasks.values()
        ]
        lines.append([f"{agents}, before", *(_by_seed(found, "before", seeds) for found in starts)])
    for arm in in_order(rows, "arm"):
        cells = []
        for mine in tasks.values():
            tried = any(row["arm"] == arm for row in mine)
            missing = "failed" if tried else "not run"
            cells.append(_by_seed(of_arm(mine, arm), "after", seeds) or missing)
        lines.append([f"`{arm}`", *cells])
    return {"learners": markdown(["", *(f"`{task}`" for task in tasks)], lines)}


def _by_seed(rows: Sequence[Row], when: str, seeds: int) -> str:
    """Pooled over seeds, one run for each; says how many seeds there are, if not all."""
    found = {row["seed"]: row[when] for row in rows}
    if not found:
        return ""
    count = f", {len(found)} seed{'s' * (len(found) > 1)}" if len(found) < seeds else ""
    return rate(list(found.values())) + count


def rates(logs: Path) -> dict[str, str]:
    """What each learning rate gave on training tasks of sudoku, and which one was chosen."""
    short, long, used = (
        read_log(logs / f"{name}.jsonl.gz") if (logs / f"{name}.jsonl.gz").exists() else []
        for name in ("learners_rates", "learners_rates_long", "learners")
    )
    sudoku = [row for row in used if row["task"] == "sudoku_v0" and row["seed"] == 0]
    tried = sorted({_rate(row) for row in short})
    lines = []
    for arm in in_order(short, "arm"):
        first = {_rate(row): row["after"]["success"] for row in of_arm(short, arm)}
        second = {_rate(row): of_last_third(row) for row in of_arm([*sudoku, *long], arm)}
        chosen = [f"{_rate(row):g}" for row in of_arm(sudoku, arm)]
        cells = [_shares(found, tried) for found in (first, second)]
        lines.append([f"`{arm}`", *cells[0], *cells[1], *(chosen or [""])])
    head = [f"{value:g}, {tokens}" for tokens in ("20k", "100k") for value in tried]
    return {"learners rates": markdown(["", *head, "chosen"], lines)}


def of_last_third(row: Row) -> float:
    """Success of the training episodes in the last third of a run. ``sft`` plays none: that on
    training tasks after it, or on held-out ones where only these were measured."""
    if row["settings"]["learner"] == "sft":
        return float(row["after"]["success"])
    curve = row["curve"]
    return fmean(point["success"] for point in curve[-max(1, len(curve) // 3) :])


def _rate(row: Row) -> float:
    return float(row["settings"]["learner_args"]["learning_rate"])


def _shares(found: dict[float, float], tried: Sequence[float]) -> list[str]:
    return [f"{found[value]:.1%}" if value in found else "" for value in tried]


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success of training episodes over sampled tokens, a panel for each environment.

    ``at_grpo`` plays on with the best of its answers, so its line is not of what the policy would do.
    """
    tasks = by_task(rows)
    picture = Figure(figsize=(3.5 * len(tasks), 4.6), dpi=130, layout="constrained")
    panels = picture.subplots(1, len(tasks), squeeze=False)[0]
    for axes, (task, mine) in zip(panels, tasks.items(), strict=True):
        for colour, arms in COLOURS.items():
            for arm, style in zip(arms, _STYLES, strict=False):
                lines = [smoothed(row) for row in of_arm(mine, arm)]
                if lines:
                    tokens, success = (np.mean(part, axis=0) for part in zip(*lines, strict=True))
                    label = f"{arm}, best of 8 answers" if arm == "at_grpo" else arm
                    axes.plot(tokens / 1000, success, color=colour, linestyle=style, label=label)
        taught = of_arm(mine, "sft")
        if taught:  # learns from the expert's play, and plays none
            value, _ = pool_success([row["after"] for row in taught])
            axes.axhline(value, color="#9aa0a6", label="sft, at its end, on held-out tasks")
        axes.set_title(task)
        axes.set_xlabel("thousands of sampled tokens", fontsize=8)
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncol=7, fontsize=8)
    panels[0].set_ylabel("success of training episodes", fontsize=9)
    picture.savefig(str(path))


def smoothed(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """Sampled tokens and success at ``_POINTS`` places of a run: means of a tenth of its tokens."""
    tokens = np.array(list(accumulate(point["tokens"] for point in row["curve"])))
    success = np.array([point["success"] for point in row["curve"]])
    places = np.linspace(tokens[-1] / 10, tokens[-1], _POINTS)
    width = tokens[-1] / 10
    means = [success[(tokens > at - width) & (tokens <= at)] for at in places]
    return places, np.array([part.mean() if len(part) else np.nan for part in means])
