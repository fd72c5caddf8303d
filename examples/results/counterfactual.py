"""The tables and the figure of docs/results/archive/counterfactual.md: tokens until a team succeeds, by credit rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean

from logs import Row
from matplotlib.figure import Figure
from readings import by_task, in_order, of_arm

RULES = {
    "magrpo": "MAGRPO",
    "ccpo": "CCPO",
    "magrpo_cross": 'MAGRPO, mode="cross"',
}
LEVELS = (0.5, 0.7, 0.9)  # the first agent of idle_seat alone can earn 0.8
LENGTH = 5  # iterations in a row
_COLOURS = {"magrpo": "#9aa0a6", "ccpo": "#d9730d", "magrpo_cross": "#4285c8"}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """For each task every run, and the tokens that the others took beside MAGRPO, seed by seed."""
    made = {}
    for task, mine in by_task(rows).items():
        made[f"counterfactual {task}"] = _runs(mine)
        made[f"counterfactual paired {task}"] = _paired(mine)
    return made


def _runs(rows: Sequence[Row]) -> str:
    reached = " | ".join(f"tokens to {level:.0%}" for level in LEVELS)
    lines = [
        f"| credit | seed | {reached} | seconds to {LEVELS[-1]:.0%} | tokens | success after |",
        "|---" * (len(LEVELS) + 5) + "|",
    ]
    for arm in in_order(rows, "arm"):
        for row in of_arm(rows, arm):
            tokens = [_thousands(tokens_to(row, level)) for level in LEVELS]
            seconds = seconds_to(row, LEVELS[-1])
            cells = [
                RULES[arm],
                str(row["seed"]),
                *tokens,
                "never" if seconds is None else f"{seconds:.0f}",
            ]
            success, (low, high) = row["after"]["success"], row["after"]["success_ci95"]
            cells += [_thousands(row["tokens"]), f"{success:.1%} [{low:.1%}, {high:.1%}]"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _paired(rows: Sequence[Row]) -> str:
    lines = [
        "| credit | level | tokens, as a share of MAGRPO's with the same seed | mean |",
        "|---|---|---|---|",
    ]
    base = {row["seed"]: row for row in of_arm(rows, "magrpo")}
    for arm in in_order(rows, "arm"):
        for level in LEVELS if arm != "magrpo" else ():
            shares = []
            for row in of_arm(rows, arm):
                pair = (
                    tokens_to(row, level),
                    tokens_to(base[row["seed"]], level) if row["seed"] in base else None,
                )
                shares.append(None if None in pair else pair[0] / pair[1])
            known = [share for share in shares if share is not None]
            each = ", ".join("not both" if share is None else f"{share:.2f}" for share in shares)
            mean = f"{fmean(known):.2f}" if known else ""
            lines.append(f"| {RULES[arm]} | {level:.0%} | {each} | {mean} |")
    return "\n".join(lines)


def reached(row: Row, level: float) -> int | None:
    """The first iteration from which ``LENGTH`` in a row have on average at least this success."""
    curve = [point["success"] for point in row["curve"]]
    starts = range(len(curve) - LENGTH + 1)
    return next((at for at in starts if fmean(curve[at : at + LENGTH]) >= level), None)


def tokens_to(row: Row, level: float) -> int | None:
    at = reached(row, level)
    return None if at is None else sum(point["tokens"] for point in row["curve"][: at + 1])


def seconds_to(row: Row, level: float) -> float | None:
    at = reached(row, level)
    if at is None:
        return None
    return sum(
        point["rollout_seconds"] + point["update_seconds"] for point in row["curve"][: at + 1]
    )


def _thousands(tokens: int | None) -> str:
    return "never" if tokens is None else f"{tokens / 1000:.1f}k"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Success in training over sampled tokens, means of five iterations; a panel for each task."""
    tasks = by_task(rows)
    drawn = Figure(figsize=(4.6 * len(tasks) + 0.6, 3.4), dpi=130, layout="constrained")
    for axes, (task, mine) in zip(
        drawn.subplots(1, len(tasks), squeeze=False)[0], tasks.items(), strict=True
    ):
        for arm, name in RULES.items():
            for number, row in enumerate(of_arm(mine, arm)):
                tokens = [t / 1000 for t in accumulate(point["tokens"] for point in row["curve"])]
                success = [point["success"] for point in row["curve"]]
                smooth = [fmean(success[max(0, at - 4) : at + 1]) for at in range(len(success))]
                axes.plot(
                    tokens,
                    smooth,
                    color=_COLOURS[arm],
                    label=name if number == 0 else None,
                    linewidth=1,
                )
        axes.set_title(task)
        axes.set_ylim(0, 1)
        axes.set_xlabel("thousand sampled tokens", fontsize=9)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    drawn.supylabel("success in training", fontsize=9)
    drawn.savefig(str(path))
