"""The tables and the figure of docs/results/archive/tic_tac_toe.md: draws against a perfect player."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from logs import Row
from matplotlib.figure import Figure
from readings import by_task, markdown

ARMS = {  # what each plays against, and its colour
    "perfect": ("a perfect player", "#1b1b1b"),
    "mixed": ("a perfect player, or the newest copy", "#d9730d"),
    "self": ("itself", "#9aa0a6"),
    "low_rate": ("itself, small steps", "#2f9e6e"),
    "uniform": ("the 10 newest copies, uniform", "#4285c8"),
}
STARTS = {
    "random": "from legal moves",
    "taught": "from perfect moves as labels",
    "half": "from such labels, stopped early",
}
DRAWS = 0.95


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Draws as each player against a perfect player, at each measurement; a table for each start."""
    head = ["plays against", "seed", "iterations", "tokens"]
    head += ["draws as X", "draws as O", "legal", "likeliest move: as X", "as O"]
    made = {}
    for task, mine in by_task(rows).items():
        lines = []
        for row in mine:
            spent = [0, *accumulate(one["tokens"] for one in row["curve"])]
            for point in row["copies"]:
                shares = (*point["draws"], point["legal"], *point.get("likeliest", ()))
                cells = [ARMS[row["arm"]][0], row["seed"], point["step"]]
                cells.append(f"{spent[point['step']] / 1000:,.0f}k")
                cells += [f"{share:.1%}" for share in shares]
                lines.append(cells + [""] * (len(head) - len(cells)))
        made[f"tic_tac_toe {task}"] = markdown(head, lines)
    return made


def figure(rows: Sequence[Row], path: Path) -> None:
    """Draws against a perfect player over iterations: a panel for each start and player."""
    tasks = by_task(rows)
    drawn = Figure(figsize=(9.4, 2.9 * len(tasks)), dpi=130, layout="constrained")
    lines = {}
    for panels, (task, mine) in zip(
        drawn.subplots(len(tasks), 2, squeeze=False, sharey="row"), tasks.items(), strict=True
    ):
        lowest = min(share for row in mine for point in row["copies"] for share in point["draws"])
        for player, (axes, mark) in enumerate(zip(panels, "XO", strict=True)):
            for row in mine:
                steps = [point["step"] for point in row["copies"]]
                draws = [point["draws"][player] for point in row["copies"]]
                against, colour = ARMS[row["arm"]]
                (lines[against],) = axes.plot(steps, draws, color=colour, linewidth=1.2)
            axes.axhline(DRAWS, color="black", linewidth=0.8, linestyle=":")
            axes.set_title(f"as {mark}, {STARTS[task]}", fontsize=10)
            axes.set_ylim(0 if lowest < 0.5 else 0.5, 1)
            axes.grid(alpha=0.3)
    drawn.legend(lines.values(), lines.keys(), fontsize=8, loc="outside right upper")
    drawn.supxlabel("iterations; dotted: the goal", fontsize=9)
    drawn.supylabel("draws against a perfect player", fontsize=9)
    drawn.savefig(str(path))
