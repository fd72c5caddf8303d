"""The tables and the figure of delegation: success against the size of the documents, for each way to read them.

    python examples/results/delegation.py --model runs/results/models/delegate_words

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
from matplotlib.figure import Figure
from readings import by_task, in_order, markdown, of_arm

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
    mine = next(iter(by_task(rows).values()))
    return {"crowd delegation": _curves(mine), "crowd delegation cost": _costs(mine)}


def _curves(rows: Sequence[Row]) -> str:
    lines = []
    for greedy in (True, False):
        for size in at_sizes(rows[0], greedy=greedy):
            cells = []
            for form in FORMS:
                found = [at_sizes(row, greedy=greedy)[size]["success"] for row in of_arm(rows, form)]
                cells.append(_spread(found))
            lines.append(["greedy" if greedy else "sampled", size, *cells])
    head = ["", "records on a page", *(NAMES[form] for form in FORMS)]
    return markdown(head, lines)


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
    for arm in in_order(rows, "arm"):
        mine = of_arm(rows, arm)
        before, after = (
            ", ".join(f"{row[when]['greedy']['success']:.0%}" for row in mine)
            for when in ("before", "after")
        )
        steps = [len(row["curve"]) for row in mine]
        cost = [f"{fmean(row['tokens'] for row in mine):,.0f}", f"{fmean(steps):.0f}"]
        play = fmean(row["after"]["tokens"] / row["after"]["tasks"] for row in mine)
        texts = fmean(row["after"]["answers"] / row["after"]["tasks"] for row in mine)
        seconds = fmean(row["seconds"] for row in mine)
        lines.append(
            [NAMES[arm], before, after, *cost, f"{seconds:.0f}", f"{texts:.1f}", f"{play:.1f}"]
        )
    head = ["", "greedy before, each seed", "greedy after", "tokens of training", "iterations"]
    return markdown([*head, "seconds", "completions a task", "tokens a task"], lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success over the records on a page, greedy and sampled: a line for each form with its interval over seeds,
    a mark for each seed, and where a perfect player of this form stops (dotted)."""
    mine = next(iter(by_task(rows).values()))
    limits = [json.loads(line) for line in LIMITS.read_text().splitlines()]
    drawn = Figure(figsize=(10, 3.8), dpi=130, layout="constrained")
    for axes, greedy in zip(drawn.subplots(1, 2, sharey=True), (True, False), strict=True):
        for form, colour in COLOURS.items():
            runs = of_arm(mine, form)
            if not runs:
                continue
            sizes = list(at_sizes(runs[0], greedy=greedy))
            each = [[at_sizes(run, greedy=greedy)[s]["success"] for run in runs] for s in sizes]
            means, spans = zip(*(over_seeds(found) for found in each), strict=True)
            lows, highs = zip(*spans, strict=True)
            axes.plot(sizes, means, marker="o", color=colour, label=NAMES[form])
            axes.fill_between(sizes, lows, highs, color=colour, alpha=0.15)
            for size, found in zip(sizes, each, strict=True):
                axes.plot([size] * len(found), found, "_", color=colour, markersize=7)
            shares = [(row["rows"], row["fits"]) for row in limits if row["form"] == form]
            axes.plot(*zip(*shares, strict=True), ":", color=colour, linewidth=1.2)
        axes.set(xscale="log", xlabel="records on a page", ylim=(-0.03, 1.05))
        axes.set_xticks(sizes, labels=map(str, sizes))
        axes.minorticks_off()
        axes.set_title("greedy" if greedy else "sampled", fontsize=10)
        axes.grid(alpha=0.3)
    drawn.axes[0].set_ylabel("success on test tasks")
    drawn.axes[0].legend(fontsize=8, loc="center left")
    drawn.savefig(str(path))


def main() -> None:
    from llmzoo.models.sampling import Sampling
    from llmzoo.policies import load

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of a model, for its tokens and context")
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
