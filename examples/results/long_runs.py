"""The tables and the figure of runs of millions of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cell_runs import PARTS, parts_of
from logs import Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from readings import after, by_task, in_order, markdown, marks, of_arm, rate

from llmzoo.training.statistics import paired_over_seeds, pooled

_POINTS = 20  # of a line
_STYLES = ("-", "--")  # of the arms


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """For each task, held-out success of each run, and of the seeds of an arm, by rounds of play; success in
    play over each run; the arms compared by test tasks, with the seeds that both have."""
    found = {}
    parts = [f"{part + 1}/{PARTS}" for part in range(PARTS)]
    for task, mine in by_task(rows).items():
        lines: list[Sequence[object]] = []
        slopes: list[Sequence[object]] = []
        for runs in _arms(mine):
            agents = _agents(runs[0])
            lines += [[agents, row["seed"], *_cost(row), *_told([row])] for row in runs]
            if len(runs) > 1:
                lines.append([agents, "all", "", "", *_told(runs)])
            slopes += [
                [agents, row["seed"], *(f"{mean:.1%}" for _, mean in parts_of(row, PARTS))]
                for row in runs
            ]
        head = ["agents", "seed", "tokens", "minutes", *_head(mine[0])]
        found[f"long {task}"] = markdown(head, lines)
        found[f"long slope {task}"] = markdown(["agents", "seed", *parts], slopes)
        found[f"long paired {task}"] = _paired(mine)
    return found


def _arms(rows: Sequence[Row]) -> list[list[Row]]:
    return [of_arm(rows, arm) for arm in in_order(rows, "arm")]


def _agents(row: Row) -> int:
    return int(row["settings"]["env_args"].get("num_agents", 2))


def _cost(row: Row) -> list[str]:
    return [f"{row['tokens'] / 1e6:.1f}M", f"{row['seconds'] / 60:.0f}"]


def _rounds(row: Row) -> dict[str | None, int]:
    """The rounds of each condition in which the run is measured, fewest first; None: as in training."""
    rounds = {None: row["settings"]["env_args"]["max_turns"]}
    rounds |= {also: args["max_turns"] for also, args in row["also_args"].items()}
    return dict(sorted(rounds.items(), key=lambda item: item[1]))


def _head(row: Row) -> list[str]:
    if not row["also_args"]:
        return ["rounds", "before", "after", "greedy before", "greedy after"]
    afters = [f"after, {n} round{'s' * (n > 1)}" for n in _rounds(row).values()]
    return ["rounds", "before", *afters, "greedy before", "greedy after"]


def _told(runs: Sequence[Row]) -> list[str]:
    rounds = _rounds(runs[0])
    found = [str(rounds[None]), rate([row["before"] for row in runs])]
    found += [rate([after(row, also) for row in runs]) for also in rounds]
    return [*found, *(rate([row[when]["greedy"] for row in runs]) for when in ("before", "after"))]


def _paired(rows: Sequence[Row]) -> str:
    """After training against before, for each arm; the second arm against the first."""
    arms = _arms(rows)
    lines = [
        _compared(
            f"{_agents(runs[0])}, after against before", marks(runs), marks(runs, before=True)
        )
        for runs in arms
    ]
    if len(arms) > 1:
        seeds = set.intersection(*({row["seed"] for row in runs} for runs in arms))
        both = [[row for row in runs if row["seed"] in seeds] for runs in arms]
        name = f"{_agents(arms[0][0])} against {_agents(arms[1][0])}"
        lines.append(_compared(name, marks(both[0]), marks(both[1])))
    head = ["agents", "seeds", "tasks solved more often by the first", "by the second", "p"]
    return markdown(head, lines)


def _compared(
    name: str, first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]
) -> list[object]:
    found = paired_over_seeds(first, second)
    p = "< 0.0001" if found.p_value < 1e-4 else f"{found.p_value:.4f}"
    return [name, len(first), found.only_first, found.only_second, p]


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success over sampled tokens, a panel for each task, a line for each run: in play (lines), on held-out
    tasks (points)."""
    tasks = by_task(rows)
    picture = Figure(figsize=(5.6 * len(tasks) + 0.6, 3.6), dpi=130, layout="constrained")
    panels = picture.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, (task, mine) in zip(panels, tasks.items(), strict=True):
        for runs, style in zip(_arms(mine), _STYLES, strict=False):
            for row in runs:
                _line(axes, row, style)
        axes.set_title(task)
        axes.set_xlabel("million sampled tokens", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower right")
    panels[0].set_ylabel("success", fontsize=9)
    picture.savefig(str(path))


def _line(axes: Axes, row: Row, style: str) -> None:
    points = parts_of(row, _POINTS)
    colour = f"C{row['seed']}"
    agents = "one agent" if _agents(row) == 1 else "two agents"
    axes.plot(
        [tokens / 1e6 for tokens, _ in points],
        [success for _, success in points],
        style,
        color=colour,
        label=f"{agents}, seed {row['seed']}",
    )
    for place, one in ((0, row["before"]), (row["tokens"] / 1e6, row["after"])):
        success, (low, high) = pooled([one])
        span = [[success - low], [high - success]]
        axes.errorbar(place, success, yerr=span, marker="o", capsize=3, color=colour)
