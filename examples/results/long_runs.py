"""The tables and the figure of runs of millions of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cell_runs import PARTS, draw_run, parts_of
from logs import Row
from matplotlib.figure import Figure
from readings import (
    after,
    by_task,
    in_order,
    markdown,
    marks,
    of_arm,
    rate,
    verdict,
    with_equal_seeds,
)

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
    """After training against before, for each arm; the first arm against the second."""
    arms = _arms(rows)
    lines = [
        [
            *(f"{_agents(runs[0])}, after against before", len(runs)),
            *verdict(marks(runs), marks(runs, before=True)),
        ]
        for runs in arms
    ]
    if len(arms) > 1:
        first, second = with_equal_seeds(*arms)
        name = f"{_agents(first[0])} against {_agents(second[0])}"
        lines.append([name, len(first), *verdict(marks(first), marks(second))])
    head = ["agents", "seeds", "tasks solved more often by the first", "by the second", "p"]
    return markdown(head, lines)


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success over sampled tokens, a panel for each task, a line for each run: in play (lines), on held-out
    tasks (points)."""
    tasks = by_task(rows)
    picture = Figure(figsize=(5.6 * len(tasks) + 0.6, 3.6), dpi=130, layout="constrained")
    panels = picture.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, (task, mine) in zip(panels, tasks.items(), strict=True):
        for runs, style in zip(_arms(mine), _STYLES, strict=False):
            agents = "one agent" if _agents(runs[0]) == 1 else "two agents"
            for row in runs:
                look = {"color": f"C{row['seed']}", "label": f"{agents}, seed {row['seed']}"}
                draw_run(axes, row, _POINTS, 1e6, linestyle=style, **look)
        axes.set_title(task)
        axes.set_xlabel("million sampled tokens", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower right")
    panels[0].set_ylabel("success", fontsize=9)
    picture.savefig(str(path))
