"""The tables and the figure of docs/results/several.md: when do several agents beat one?

On one task intervals come from resampled held-out tasks, and the test is exact (flipped signs of held-out tasks).
Over all tasks the test flips the signs of pairs of runs, so that it covers how training varies, and the interval
resamples tasks. p-values are corrected (Holm) over all questions, and over all rows of single tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from logs import Row, read_log
from matplotlib.figure import Figure
from questions import QUESTIONS, Compared, arm_of, compared, partners
from readings import by_task, in_order, markdown, of_arm, p_value, rate

from llmzoo.evaluation.statistics import bootstrap_interval, holm_correction, sign_flip_test

FEW = 5  # tasks below which no interval over tasks is given


def read(logs: Path) -> tuple[list[Row], list[Row]]:
    """The runs, and the games of their agents with other partners (none where they were not played)."""
    crossed = logs / "several_crossplay.jsonl.gz"
    return read_log(logs / "several.jsonl.gz"), read_log(crossed) if crossed.exists() else []


def tables(rows: Sequence[Row], crossed: Sequence[Row]) -> dict[str, str]:
    """A table of all questions, one of each, one of all arms, and one of other partners."""
    found = _answers(rows)
    every = [one for of_question in found.values() for one in of_question]
    corrected = dict(
        zip(map(id, every), holm_correction([one.p_value for one in every]), strict=True)
    )
    made = {"several": _questions(found, partners(rows, crossed))}
    for name, of_question in found.items():
        if not of_question:
            continue  # it was not asked
        made[f"several {name}"] = _tasks(of_question, [corrected[id(one)] for one in of_question])
    return made | {"several partners": _partners(rows, crossed), "several arms": _arms(rows)}


def longer_tables(rows: Sequence[Row]) -> dict[str, str]:
    """The questions, their tasks and the arms of the study with more tokens, in which no agent met other
    partners."""
    found = _answers(rows)
    return {
        "several longer": _questions(found, ()),
        "several longer tasks": _differences(found),
        "several longer arms": _arms(rows),
    }


def _answers(rows: Sequence[Row]) -> dict[str, list[Compared]]:
    return {question.name: compared(rows, question) for question in QUESTIONS}


def _questions(
    found: Mapping[str, list[Compared]], transfer: Sequence[tuple[str, int, int]]
) -> str:
    lines = []
    for question in QUESTIONS:
        of = found[question.name]
        counts = [count for one in of for count in one.counts]
        shares = [one.shares for one in of]
        if counts:
            lines.append((question.text, len(of), counts, shares))
    if transfer:
        drops = [drop for _, drop, _ in transfer]
        shares = [[drop / total] for _, drop, total in transfer]
        text = "a partner from another seed, against one's own"
        lines.append((text, len(transfer), drops, shares))
    p_values = [sign_flip_test(counts).p_value for _, _, counts, _ in lines]
    table = []
    for (text, tasks, counts, shares), p, both in zip(
        lines, p_values, holm_correction(p_values), strict=True
    ):
        mean = f"{100 * fmean(share for of in shares for share in of):+.1f}"
        if tasks >= FEW:
            low, high = bootstrap_interval(shares)
            mean += f" [{100 * low:+.1f}, {100 * high:+.1f}]"
        ahead = f"{sum(count > 0 for count in counts)} of {len(counts)}"
        table.append([text, tasks, len(counts), mean, ahead, p_value(p), p_value(both)])
    head = ["", "tasks", "pairs", "difference, points", "first ahead", "p", "p, corrected"]
    return markdown(head, table)


def _tasks(of_question: Sequence[Compared], corrected: Sequence[float]) -> str:
    lines = []
    for one, p in zip(of_question, corrected, strict=True):
        each = ", ".join(f"{100 * share:+.1f}" for share in one.shares)
        rates = [rate([row["after"] for row in of]) for of in (one.first, one.second)]
        lines.append([one.task, *rates, _difference(one), each, p_value(one.p_value), p_value(p)])
    head = ["task", "first", "second", "difference, points", "each seed", "p", "p, corrected"]
    return markdown(head, lines)


def _difference(one: Compared) -> str:
    low, high = bootstrap_interval(one.clusters)
    return f"{100 * fmean(one.shares):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _differences(found: Mapping[str, list[Compared]]) -> str:
    """Of each task and question the difference in points; bold where the corrected p is below 0.05."""
    every = [(name, one) for name, of in found.items() for one in of]
    cells = {}
    for (name, one), p in zip(
        every, holm_correction([one.p_value for _, one in every]), strict=True
    ):
        points = _difference(one)
        cells[one.task, name] = f"**{points}**" if p < 0.05 else points
    tasks = dict.fromkeys(one.task for _, one in every)
    asked = [name for name, of in found.items() if of]
    lines = [[task, *(cells.get((task, name), "") for name in asked)] for task in tasks]
    return markdown(["task", *asked], lines)


def _arms(rows: Sequence[Row]) -> str:
    """What each arm did, and what it cost."""
    lines = []
    for task, mine in by_task(rows).items():
        for arm in in_order(mine, "arm"):
            runs = of_arm(mine, arm)
            if not runs:
                continue
            before, after = ([row[when] for row in runs] for when in ("before", "after"))
            greedy = rate([one["greedy"] for one in after])
            tokens = sum(one["tokens"] for one in after) / sum(one["tasks"] for one in after)
            cost = [fmean(row[key] for row in runs) for key in ("tokens", "seconds")]
            cells = [rate(before), rate(after), greedy, f"{tokens:.0f}", f"{cost[0] / 1000:.1f}k"]
            lines.append([task, f"`{arm}`", len(runs), *cells, f"{cost[1]:.0f}"])
    head = ["task", "arm", "seeds", "before", "after, sampled", "greedy"]
    return markdown([*head, "tokens a task in play", "tokens of training", "seconds"], lines)


def _partners(rows: Sequence[Row], crossed: Sequence[Row]) -> str:
    """Success of the first agent of each seed (rows) beside the second agent of each (columns)."""
    seeds = sorted({seed for row in crossed for seed in row["seeds"]})
    lines = []
    for task, mine in by_task(crossed).items():
        cells = {tuple(row["seeds"]): row["success"] for row in mine}
        own = {
            row["seed"]: row["after"]["success"] for row in rows if arm_of(row) == arm_of(mine[0])
        }
        cells |= {(seed, seed): success for seed, success in own.items()}
        for first in seeds:
            shown = [cells.get((first, second)) for second in seeds]
            rates = ["not run" if found is None else f"{found:.1%}" for found in shown]
            lines.append([task, f"seed {first}", *rates])
    head = ["task", "first agent of", *(f"second agent of seed {seed}" for seed in seeds)]
    return markdown(head, lines) if lines else "Not run."


def figure(rows: Sequence[Row], path: Path) -> None:
    """A panel for each question: the difference of success on each task, with its interval, and each seed's."""
    drawn = Figure(figsize=(16, 6.2), dpi=130, layout="constrained")
    panels = drawn.subplots(2, 4).flatten()
    for axes in panels[len(QUESTIONS) :]:
        axes.set_axis_off()
    for axes, question in zip(panels[: len(QUESTIONS)], QUESTIONS, strict=True):
        found = compared(rows, question)
        for place, one in enumerate(found):
            low, high = (100 * end for end in bootstrap_interval(one.clusters))
            axes.plot([low, high], [place, place], color="#4285c8", linewidth=2)
            axes.plot([100 * fmean(one.shares)], [place], "o", color="#4285c8")
            seeds = [100 * share for share in one.shares]
            axes.plot(seeds, [place] * len(seeds), "|", color="#d9730d", markersize=10)
        axes.axvline(0, color="#9aa0a6", linewidth=1)
        if not found:
            axes.text(0, 0, "not run", ha="center", va="center", backgroundcolor="white")
        axes.set_yticks(range(len(found)), [one.task for one in found])
        axes.set_ylim(max(1, len(found)) - 0.5, -0.5)
        axes.set_xlim(-100, 100)
        axes.set_title(question.text.replace(", against", "\nagainst"), fontsize=8)
        axes.grid(axis="x", alpha=0.3)
    drawn.supxlabel(
        "points of success that the first is ahead of the second; bars: 95% by test tasks; ticks: seeds",
        fontsize=9,
    )
    drawn.savefig(str(path))
