"""The tables and the figure of runs of millions of tokens, of one arm and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cell_runs import PARTS, parts_of
from logs import Row
from matplotlib.figure import Figure
from readings import after, markdown, rate

from llmzoo.training.statistics import pooled

_POINTS = 20  # of a line


def tables(name: str) -> Callable[[Sequence[Row]], dict[str, str]]:
    """Held-out success of each seed and of all, by rounds of play, and success in play over each run."""

    def of_rows(rows: Sequence[Row]) -> dict[str, str]:
        trained = rows[0]["settings"]["env_args"]["max_turns"]
        rounds = {None: trained} | {
            also: args["max_turns"] for also, args in rows[0]["also_args"].items()
        }
        ways = sorted(rounds, key=lambda also: rounds[also])

        def told(runs: Sequence[Row]) -> list[str]:
            found = [rate([row["before"] for row in runs])]
            found += [rate([after(row, also) for row in runs]) for also in ways]
            return [*found, rate([row["after"]["greedy"] for row in runs])]

        lines = [
            [row["seed"], f"{row['tokens'] / 1e6:.1f}M", f"{row['seconds'] / 60:.0f}", *told([row])]
            for row in rows
        ]
        head = ["seed", "tokens", "minutes", f"before, {_rounds(trained)}"]
        head += [f"after, {_rounds(rounds[also])}" for also in ways]
        head.append(f"greedy, {_rounds(trained)}")
        slopes = [
            [row["seed"], *(f"{mean:.1%}" for _, mean in parts_of(row, PARTS))] for row in rows
        ]
        parts = [f"{part + 1}/{PARTS}" for part in range(PARTS)]
        return {
            f"long {name}": markdown(head, [*lines, ["all", "", "", *told(rows)]]),
            f"long {name} slope": markdown(["seed", *parts], slopes),
        }

    return of_rows


def _rounds(count: int) -> str:
    return f"{count} round{'s' * (count > 1)}"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success over sampled tokens, a line for each seed: in play (lines), on held-out tasks (points)."""
    picture = Figure(figsize=(6.4, 3.6), dpi=130, layout="constrained")
    axes = picture.subplots()
    for number, row in enumerate(rows):
        points = parts_of(row, _POINTS)
        colour = f"C{number}"
        axes.plot(
            [tokens / 1e6 for tokens, _ in points],
            [success for _, success in points],
            color=colour,
            label=f"seed {row['seed']}",
        )
        for place, one in ((0, row["before"]), (row["tokens"] / 1e6, row["after"])):
            success, (low, high) = pooled([one])
            span = [[success - low], [high - success]]
            axes.errorbar(place, success, yerr=span, marker="o", capsize=3, color=colour)
    axes.set_title(rows[0]["task"])
    axes.set_xlabel("million sampled tokens", fontsize=9)
    axes.set_ylabel("success", fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
    picture.savefig(str(path))
