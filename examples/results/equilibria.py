"""The tables and figures of docs/results/duels.md: self-play and pools in two small games."""

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

# what the arms of both games play against
AGAINST = {
    "self": "itself",
    "entropy": "itself, entropy bonus 0.1",
    "annealed": "itself, entropy bonus 0.2, then 0.1",
    "one_token": "itself, entropy bonus 0.2, then 0.1, answers of one token",
    "steady": "itself, entropy bonus 0.2, 0.1, then 0.05, answers of one token, 32 hands an iteration",
    "no_momentum": "itself, entropy bonus 0.2, 0.1, then 0.05, answers of one token, 32 hands an iteration, "
    "no momentum",
    "perfect": "a perfect player",
    "mixed": "a perfect player, or the newest copy",
    "latest": "the newest copy",
    "uniform": "the 10 newest copies, uniform",
    "prioritized": "the 20 newest copies, prioritized",
    "fictitious": "all copies, uniform (fictitious)",
}
POOLS = ("self", "entropy", "latest", "uniform", "prioritized", "fictitious")
LEARNERS = {
    "AT-GRPO": {kind: kind for kind in POOLS},
    "MAGRPO": {
        "annealed": "annealed",
        "one_token": "one_token",
        "steady": "steady",
        "no_momentum": "no_momentum",
    },
    "MAGRPO, RAE": {kind: f"magrpo_{kind}" for kind in POOLS},
    "IPPO": {kind: f"ippo_{kind}" for kind in POOLS},
}
TARGET = 0.02  # chips a hand
DRAWS = 0.95
STARTS = {"random": "from legal moves", "taught": "from perfect moves as labels"}  # of tic-tac-toe
_COLOURS = {
    "self": "#9aa0a6",
    "entropy": "#d9730d",
    "annealed": "#d9730d",
    "one_token": "#8b2500",
    "steady": "#00838f",
    "no_momentum": "#1b1b1b",
    "perfect": "#1b1b1b",
    "mixed": "#d9730d",
    "latest": "#7b61c4",
    "uniform": "#4285c8",
    "prioritized": "#2f9e6e",
    "fictitious": "#b8336a",
}


def kuhn_tables(rows: Sequence[Row]) -> dict[str, str]:
    """For each start, what every arm reached that has been run."""
    tables = {}
    for task, mine in by_task(rows).items():
        lines = [
            "| learner | plays against | seeds | start | end | lowest of a run | newest half of the copies "
            "| all copies | legal | tokens |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for learner, arms in LEARNERS.items():
            for kind, arm in arms.items():
                if runs := of_arm(mine, arm):
                    lines.append(
                        "| " + " | ".join([learner, AGAINST[kind], *_reached(runs)]) + " |"
                    )
        tables[f"kuhn {task}"] = "\n".join(lines)
    return tables


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


def kuhn_figure(rows: Sequence[Row], path: Path) -> None:
    """Exploitability over sampled tokens: a row for each start, a panel for each learner; bands are of seeds."""
    tasks = by_task(rows)
    ran = {
        name: arms for name, arms in LEARNERS.items() if any(of_arm(rows, a) for a in arms.values())
    }
    size = (3.4 * len(ran) + 2.6, 3.1 * len(tasks))
    figure = Figure(figsize=size, dpi=130, layout="constrained")
    panels = figure.subplots(len(tasks), len(ran), squeeze=False, sharey=True)
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
    figure.legend(lines.values(), lines.keys(), fontsize=8, loc="outside right upper")
    figure.supxlabel(
        "thousand sampled tokens; dashed: the newest half of the copies, averaged; dotted: the goal",
        fontsize=9,
    )
    figure.supylabel("exploitability, chips a hand", fontsize=9)
    figure.savefig(str(path))


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


def tic_tac_toe_tables(rows: Sequence[Row]) -> dict[str, str]:
    """Draws and losses of each seat against a perfect player, at each measurement; a table for each start."""
    head = ["plays against", "seed", "iterations", "tokens"]
    head += ["draws as X", "draws as O", "losses as X", "losses as O", "legal"]
    tables = {}
    for task, mine in by_task(rows).items():
        lines = []
        for row in mine:
            spent = [0, *accumulate(one["tokens"] for one in row["curve"])]
            for point in row["copies"]:
                shares = (*point["draws"], *point["losses"], point["legal"])
                cells = [AGAINST[row["arm"]], row["seed"], point["step"]]
                cells.append(f"{spent[point['step']] / 1000:,.0f}k")
                lines.append([*cells, *(f"{share:.1%}" for share in shares)])
        tables[f"tic_tac_toe {task}"] = markdown(head, lines)
    return tables


def tic_tac_toe_figure(rows: Sequence[Row], path: Path) -> None:
    """Draws against a perfect player over iterations: a panel for each start and seat."""
    tasks = by_task(rows)
    figure = Figure(figsize=(9.4, 2.9 * len(tasks)), dpi=130, layout="constrained")
    lines = {}
    for panels, (task, mine) in zip(
        figure.subplots(len(tasks), 2, squeeze=False, sharey="row"), tasks.items(), strict=True
    ):
        lowest = min(share for row in mine for point in row["copies"] for share in point["draws"])
        for seat, (axes, mark) in enumerate(zip(panels, "XO", strict=True)):
            for row in mine:
                steps = [point["step"] for point in row["copies"]]
                draws = [point["draws"][seat] for point in row["copies"]]
                (line,) = axes.plot(steps, draws, color=_COLOURS[row["arm"]], linewidth=1.2)
                lines[AGAINST[row["arm"]]] = line
            axes.axhline(DRAWS, color="black", linewidth=0.8, linestyle=":")
            axes.set_title(f"as {mark}, {STARTS[task]}", fontsize=10)
            axes.set_ylim(0 if lowest < 0.8 else 0.8, 1)
            axes.grid(alpha=0.3)
    figure.legend(lines.values(), lines.keys(), fontsize=8, loc="outside right upper")
    figure.supxlabel("iterations; dotted: the goal", fontsize=9)
    figure.supylabel("draws against a perfect player", fontsize=9)
    figure.savefig(str(path))
