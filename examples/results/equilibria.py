"""The table and the figure of docs/results/archive/duels.md: how far from an equilibrium self-play and pools end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

from logs import Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from readings import by_task, markdown, of_arm

AGAINST = {
    "self": "itself",
    "entropy": "itself, entropy bonus 0.1",
    "annealed": "itself, entropy bonus 0.2, then 0.1",
    "one_token": "itself, entropy bonus 0.2, then 0.1, answers of one token",
    "steady": "itself, entropy bonus 0.2, 0.1, then 0.05, answers of one token, 32 hands an iteration",
    "no_momentum": "itself, entropy bonus 0.2, 0.1, then 0.05, answers of one token, 32 hands an iteration, "
    "no momentum",
    "low_rate": "itself, small steps",
    "low_rate_entropy": "itself, small steps, entropy bonus 0.03",
    "falling_rate": "itself, small steps that fall to 0, 32 hands an iteration",
    "latest": "the newest copy",
    "uniform": "the 10 newest copies, uniform",
    "prioritized": "the 20 newest copies, prioritized",
    "fictitious": "all copies, uniform (fictitious)",
}
POOLS = ("self", "entropy", "latest", "uniform", "prioritized", "fictitious")
ALONE = (  # arms of MAGRPO with its own baseline, against itself
    *("annealed", "one_token", "steady", "no_momentum"),
    *("low_rate", "low_rate_entropy", "falling_rate"),
)
LEARNERS = {
    "AT-GRPO": {kind: kind for kind in POOLS},
    "MAGRPO": {kind: kind for kind in ALONE},
    "MAGRPO, RAE": {kind: f"magrpo_{kind}" for kind in POOLS},
    "IPPO": {kind: f"ippo_{kind}" for kind in POOLS},
}
_HEAD = (
    *("learner", "plays against", "seeds", "start", "end", "lowest of a run"),
    *("newest half of the copies", "all copies", "legal", "tokens"),
)
TARGET = 0.02  # chips a hand
_COLOURS = {
    "self": "#9aa0a6",
    "entropy": "#d9730d",
    "annealed": "#d9730d",
    "one_token": "#8b2500",
    "steady": "#00838f",
    "no_momentum": "#1b1b1b",
    "low_rate": "#2f9e6e",
    "low_rate_entropy": "#4285c8",
    "falling_rate": "#7b61c4",
    "latest": "#7b61c4",
    "uniform": "#4285c8",
    "prioritized": "#2f9e6e",
    "fictitious": "#b8336a",
}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """For each start, what every arm reached that has been run."""
    made = {}
    for task, mine in by_task(rows).items():
        lines = [
            [learner, AGAINST[kind], *_reached(runs)]
            for learner, arms in LEARNERS.items()
            for kind, arm in arms.items()
            if (runs := of_arm(mine, arm))
        ]
        made[f"kuhn {task}"] = markdown(_HEAD, lines)
    return made


def _reached(runs: Sequence[Row]) -> list[str]:
    measured = [[point["exploitability"] for point in row["exact"]] for row in runs]
    return [
        str(len(runs)),
        _each([of_run[0] for of_run in measured]),
        _each([of_run[-1] for of_run in measured]),
        _each([min(of_run) for of_run in measured]),
        _each([row["averages"][-1]["newest"] for row in runs]),
        _each([row["averages"][-1]["all"] for row in runs]),
        f"{fmean(row['exact'][-1]['legal'] for row in runs):.1%}",
        f"{fmean(row['tokens'] for row in runs) / 1000:,.0f}k",
    ]


def _each(values: Sequence[float]) -> str:
    """The mean, and what it is of."""
    mean = f"{fmean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ({', '.join(f'{v:.3f}' for v in values)})"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Exploitability over sampled tokens: a row for each start, a panel for each learner; bands are of seeds."""
    tasks = by_task(rows)
    ran = {
        name: arms for name, arms in LEARNERS.items() if any(of_arm(rows, a) for a in arms.values())
    }
    size = (3.4 * len(ran) + 2.6, 3.1 * len(tasks))
    drawn = Figure(figsize=size, dpi=130, layout="constrained")
    panels = drawn.subplots(len(tasks), len(ran), squeeze=False, sharey=True)
    lines = {}
    for of_task, (task, mine) in zip(panels, tasks.items(), strict=True):
        for axes, (learner, arms) in zip(of_task, ran.items(), strict=True):
            for kind, arm in arms.items():
                if runs := of_arm(mine, arm):
                    lines[AGAINST[kind]] = _curve(axes, runs, _COLOURS[kind])
            axes.axhline(TARGET, color="black", linewidth=0.8, linestyle=":")
            axes.set_title(f"{learner}, from {task}", fontsize=10)
            axes.set_ylim(0, 0.5)
            axes.grid(alpha=0.3)
    drawn.legend(lines.values(), lines.keys(), fontsize=8, loc="outside right upper")
    drawn.supxlabel(
        "thousand sampled tokens; dashed: the newest half of the copies, averaged; dotted: the goal",
        fontsize=9,
    )
    drawn.supylabel("exploitability, chips a hand", fontsize=9)
    drawn.savefig(str(path))


def _curve(axes: Axes, runs: Sequence[Row], colour: str) -> Line2D:
    """The mean over seeds, and a band between the lowest and the highest of them."""
    points = list(zip(*(row["exact"] for row in runs), strict=True))
    tokens = [fmean(point["tokens"] for point in at) / 1000 for at in points]
    values = [[point["exploitability"] for point in at] for at in points]
    (line,) = axes.plot(tokens, [fmean(at) for at in values], color=colour)
    if len(runs) > 1:
        low, high = [min(at) for at in values], [max(at) for at in values]
        axes.fill_between(tokens, low, high, color=colour, alpha=0.15)
    # copies of the last stage; a copy's tokens are those of the curve before it
    spent = [0, *accumulate(point["tokens"] for point in runs[0]["curve"])]
    averaged = list(zip(*(row["averages"] for row in runs), strict=True))
    before = len(runs[0]["curve"]) - (
        runs[0]["stages"][-1]["steps"] if "stages" in runs[0] else runs[0]["settings"]["steps"]
    )
    at_tokens = [spent[before + at[0]["step"]] / 1000 for at in averaged]
    means = [fmean(point["newest"] for point in at) for at in averaged]
    axes.plot(at_tokens, means, "--", color=colour, linewidth=0.9)
    return line
