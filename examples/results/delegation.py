"""The tables and the figure of delegation: success against the size of the documents, for each way to read them.

    python examples/results/delegation.py --model runs/results/models/delegate_lookup

This writes the limits: the share of questions that a perfect player can answer in each form, because none of its
prompts exceeds the context of the model. They need no training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from logs import Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from readings import by_task, in_order, markdown, of_arm, with_equal_seeds

from llmzoo.report.series import student_t_interval

LIMITS = Path(__file__).resolve().parents[2] / "docs/results/logs/crowd_delegation_limits.jsonl"
FORMS: dict[str, dict[str, Any]] = {
    "workers": {},
    "pages": {"num_agents": 1},
    "book": {"num_agents": 1, "reading": "all"},
}
NAMES = {
    "workers": "a lead with workers",
    "pages": "one agent, page after page",
    "book": "one agent, the whole book",
}
COLOURS = {"workers": "#d9730d", "pages": "#4285c8", "book": "#9aa0a6"}
SIZES = (4, 8, 16, 32, 39, 40, 64, 128, 156, 158, 160, 162, 164)  # records on a page
SHARED = {"max_workers": 2, "documents": 4, "prompt": "terse"}


def limits_of(policy: Any, sizes: Sequence[int] = SIZES, tasks: int = 100) -> Iterator[Row]:
    """For each form and size: the share of test tasks whose expert reads no prompt beyond the model's context,
    and the longest prompt of the lead and of all agents, in tokens."""
    from llmzoo import collect

    room = policy.context - policy.sampling.max_new_tokens
    for form, args in FORMS.items():
        for size in sizes:
            env_args = {**SHARED, **args, "rows": size}
            longest, lead = [], []
            for episode in collect(
                "delegate_v0", "expert", tasks=tasks, split="test", seed=0, env_args=env_args
            ):
                lengths = [
                    (len(policy.encode(d.observation, d.agent)), d.agent) for d in episode.decisions
                ]
                longest.append(max(length for length, _ in lengths))
                lead.append(max(length for length, agent in lengths if agent == "lead_0"))
            yield {
                "form": form,
                "rows": size,
                "room": room,
                "tasks": len(longest),
                "fits": fmean(length <= room for length in longest),
                "longest": max(longest),
                "longest_lead": max(lead),
            }


def limits_table(rows: Sequence[Row]) -> str:
    """A line for each size: the share that a perfect player answers, and its longest prompt."""
    found = {(row["form"], row["rows"]): row for row in rows}
    lines = []
    for size in dict.fromkeys(row["rows"] for row in rows):
        cells = [
            f"{found[form, size]['fits']:.0%} ({found[form, size]['longest']:,})" for form in FORMS
        ]
        lines.append([size, *cells])
    return markdown(["records on a page", *(NAMES[form] for form in FORMS)], lines)


def at_sizes(row: Row, *, greedy: bool) -> dict[int, Row]:
    """What a run reached at each size of the pages."""
    return {
        args["rows"]: row["also"][name]
        for name, args in row["also_args"].items()
        if args.get("greedy", False) == greedy
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Success of each form at each size, and what training and play cost."""
    return {
        "crowd delegation": _curves(rows),
        "crowd delegation differences": _differences(rows),
        "crowd delegation cost": _costs(rows),
    }


def _curves(rows: Sequence[Row]) -> str:
    lines = []
    for greedy in (True, False):
        for mine in by_task(rows).values():
            for size in at_sizes(mine[0], greedy=greedy):
                cells = [_spread(successes(mine, form, size, greedy=greedy)) for form in FORMS]
                how = "greedy" if greedy else "sampled"
                lines.append([trained_on(mine[0]), how, size, *cells])
    head = ["trained on", "", "records on a page", *(NAMES[form] for form in FORMS)]
    return markdown(head, lines)


def _differences(rows: Sequence[Row]) -> str:
    """Workers minus pages, and workers minus book, of runs with the same seed, in points."""
    lines = []
    for mine in by_task(rows).values():
        for size in at_sizes(mine[0], greedy=True):
            cells = []
            for other in ("pages", "book"):
                for greedy in (True, False):
                    pair = with_equal_seeds(of_arm(mine, "workers"), of_arm(mine, other))
                    first, second = (
                        [at_sizes(row, greedy=greedy)[size]["success"] for row in runs]
                        for runs in pair
                    )
                    points = [100 * (a - b) for a, b in zip(first, second, strict=True)]
                    cells.append(_points(points))
            lines.append([trained_on(mine[0]), size, *cells])
    head = ["trained on", "records on a page", "pages, greedy", "pages, sampled"]
    return markdown([*head, "book, greedy", "book, sampled"], lines)


def _points(found: Sequence[float]) -> str:
    if not found:
        return "not run"
    mean, low, high = student_t_interval(found)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def trained_on(row: Row) -> int:
    """The records on a page in training."""
    return int(row["settings"]["env_args"]["rows"])


def successes(rows: Sequence[Row], form: str, size: int, *, greedy: bool) -> list[float]:
    """The success of each run of a form at a size."""
    return [at_sizes(row, greedy=greedy)[size]["success"] for row in of_arm(rows, form)]


def _spread(found: Sequence[float]) -> str:
    """The mean over seeds, its interval by seeds, and each seed."""
    if not found:
        return "not run"
    mean, (low, high) = over_seeds(found)
    each = ", ".join(f"{one:.0%}" for one in found)
    return f"{mean:.1%} [{low:.1%}, {high:.1%}] ({each})"


def over_seeds(found: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The mean of the seeds and Student's 95% interval, within 0 and 1."""
    mean, low, high = student_t_interval(found)
    return mean, (max(0.0, low), min(1.0, high))


def _costs(rows: Sequence[Row]) -> str:
    lines = []
    for task in by_task(rows).values():
        for arm in in_order(task, "arm"):
            mine = of_arm(task, arm)
            before, after = (
                ", ".join(f"{row[when]['greedy']['success']:.0%}" for row in mine)
                for when in ("before", "after")
            )
            steps = fmean(len(row["curve"]) for row in mine)
            cost = [f"{fmean(row['tokens'] for row in mine):,.0f}", f"{steps:.0f}"]
            cost += [f"{fmean(row['seconds'] for row in mine):.0f}"]
            tasks = sum(row["after"]["tasks"] for row in mine)
            texts = sum(row["after"]["answers"] for row in mine) / tasks
            play = sum(row["after"]["tokens"] for row in mine) / tasks
            name = [NAMES[arm], trained_on(mine[0])]
            lines.append([*name, before, after, *cost, f"{texts:.1f}", f"{play:.1f}"])
    head = ["", "trained on", "greedy before", "greedy after", "tokens of training", "iterations"]
    return markdown([*head, "seconds", "completions a task", "tokens a task"], lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success over the records on a page, a panel for each size in training and way to sample: a line for each form
    with its interval over seeds, a mark for each seed, and the share that a perfect player answers (dotted)."""
    tasks = list(by_task(rows).values())
    limits = [json.loads(line) for line in LIMITS.read_text().splitlines()]
    drawn = Figure(figsize=(10, 3.5 * len(tasks)), dpi=130, layout="constrained")
    panels = drawn.subplots(len(tasks), 2, sharey=True, sharex=True, squeeze=False)
    for mine, of_task in zip(tasks, panels, strict=True):
        for axes, greedy in zip(of_task, (True, False), strict=True):
            for form in FORMS:
                _draw_form(axes, mine, limits, form, greedy=greedy)
            axes.axvline(trained_on(mine[0]), color="black", linewidth=0.6, linestyle="--")
            how = "greedy" if greedy else "sampled"
            axes.set_title(f"{how}, trained on pages of {trained_on(mine[0])}", fontsize=10)
            axes.grid(alpha=0.3)
    axes.set(xscale="log", ylim=(-0.03, 1.05))
    sizes = [*at_sizes(tasks[0][0], greedy=True), 128]
    axes.set_xticks(sizes, labels=map(str, sizes))
    axes.minorticks_off()
    drawn.supxlabel("records on a page", fontsize=10)
    drawn.supylabel("success on test tasks", fontsize=10)
    panels[0][1].legend(fontsize=8, loc="center right")
    drawn.savefig(str(path))


def _draw_form(
    axes: Axes, rows: Sequence[Row], limits: Sequence[Row], form: str, *, greedy: bool
) -> None:
    colour = COLOURS[form]
    shares = [(row["rows"], row["fits"]) for row in limits if row["form"] == form]
    axes.plot(*zip(*shares, strict=True), ":", color=colour, linewidth=1.4)
    runs = of_arm(rows, form)
    if not runs:
        return
    sizes = list(at_sizes(runs[0], greedy=greedy))
    each = [successes(rows, form, size, greedy=greedy) for size in sizes]
    means, spans = zip(*(over_seeds(found) for found in each), strict=True)
    lows, highs = zip(*spans, strict=True)
    axes.plot(sizes, means, marker="o", color=colour, label=NAMES[form])
    axes.fill_between(sizes, lows, highs, color=colour, alpha=0.15)
    for size, found in zip(sizes, each, strict=True):
        axes.plot([size] * len(found), found, "_", color=colour, markersize=7)


def main() -> None:
    from llmzoo.models.sampling import Sampling
    from llmzoo.policies import load

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", required=True, help="folder of a model, for its tokens and context"
    )
    parser.add_argument("--max_new_tokens", type=int, default=16)
    parser.add_argument("--out", type=Path, default=LIMITS)
    args = parser.parse_args()
    policy = load(args.model, sampling=Sampling(max_new_tokens=args.max_new_tokens))
    rows = []
    for row in limits_of(policy):
        rows.append(row)
        print(json.dumps(row), flush=True)
    args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
