"""The tables and figures of docs/results/archive/cells.md: starts that read cells, and reinforcement from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import Any

from logs import Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from readings import after, by_task, marks, of_arm, play, rate, verdict, with_equal_seeds

from llmzoo.evaluation.statistics import pool_success

# what is played: its name, agents, rounds, the arm, the condition; without RL: what the arm begins with
Way = tuple[str, int, int, str, str | None, bool]
WAYS: Sequence[Way] = (
    ("no RL, the expert alone imitated", 1, 1, "grpo_expert", None, False),
    ("GRPO on single answers from there", 1, 1, "grpo_expert", None, True),
    ("the same in four rounds", 1, 4, "grpo_expert", "four_turns", True),
    ("no RL, the expert alone imitated", 1, 4, "at_grpo_expert", None, False),
    ("AT-GRPO from there", 1, 4, "at_grpo_expert", None, True),
    ("no RL", 1, 1, "grpo_one_turn", None, False),
    ("GRPO on single answers", 1, 1, "grpo_one_turn", None, True),
    ("no RL", 1, 4, "at_grpo_one", None, False),
    ("GRPO on single answers", 1, 4, "grpo_one_turn", "four_turns", True),
    ("AT-GRPO", 1, 4, "at_grpo_one", None, True),
    ("no RL", 2, 4, "at_grpo", None, False),
    ("AT-GRPO, one model for both agents", 2, 4, "at_grpo", None, True),
)
# other rounds and other learners, which few games have
OTHERS: Sequence[Way] = (
    ("no RL, the expert alone imitated", 1, 1, "grpo_expert", None, False),
    ("GRPO on single answers", 1, 1, "grpo_expert", None, True),
    ("no RL, the expert alone imitated", 1, 2, "at_grpo_expert_2", None, False),
    ("AT-GRPO from there", 1, 2, "at_grpo_expert_2", None, True),
    ("no RL, the expert alone imitated", 1, 4, "at_grpo_expert", None, False),
    ("GRPO over all rounds from there", 1, 4, "grpo", None, True),
    ("AT-GRPO from there", 1, 4, "at_grpo_expert", None, True),
    ("the same with a rate that falls", 1, 4, "at_grpo_expert_falling", None, True),
    ("no RL, the expert alone imitated", 1, 8, "at_grpo_expert_8", None, False),
    ("AT-GRPO from there", 1, 8, "at_grpo_expert_8", None, True),
    ("no RL", 2, 4, "at_grpo", None, False),
    ("MAGRPO", 2, 4, "magrpo", None, True),
    ("AT-GRPO, one model for both agents", 2, 4, "at_grpo", None, True),
    ("AT-GRPO, a model for each agent", 2, 4, "at_grpo_separate", None, True),
)
# two ways by their arms, each with its condition, and whether the second is the start of the first
Pair = tuple[str, str, str | None, str, str | None, bool]
PAIRS: Sequence[Pair] = (
    ("GRPO, against no RL, from the expert", "grpo_expert", None, "grpo_expert", None, True),
    (
        "AT-GRPO of one agent, against no RL, from the expert",
        *("at_grpo_expert", None, "at_grpo_expert", None, True),
    ),
    (
        "AT-GRPO of one agent, against GRPO in four rounds, from the expert",
        *("at_grpo_expert", None, "grpo_expert", "four_turns", False),
    ),
    (
        "AT-GRPO of one agent, a rate that falls against one that stays",
        *("at_grpo_expert_falling", None, "at_grpo_expert", None, False),
    ),
    ("GRPO, against no RL, one round", "grpo_one_turn", None, "grpo_one_turn", None, True),
    ("AT-GRPO of one agent, against no RL", "at_grpo_one", None, "at_grpo_one", None, True),
    (
        "AT-GRPO of one agent, against GRPO in four rounds",
        *("at_grpo_one", None, "grpo_one_turn", "four_turns", False),
    ),
    ("AT-GRPO of two agents, against no RL", "at_grpo", None, "at_grpo", None, True),
    (
        "AT-GRPO of two agents, against AT-GRPO of one",
        *("at_grpo", None, "at_grpo_one", None, False),
    ),
    (
        "AT-GRPO of two agents, against GRPO in four rounds",
        *("at_grpo", None, "grpo_one_turn", "four_turns", False),
    ),
)
OTHER_PAIRS: Sequence[Pair] = (
    (
        "AT-GRPO of one agent, against no RL, two rounds",
        *("at_grpo_expert_2", None, "at_grpo_expert_2", None, True),
    ),
    ("GRPO over all rounds, against no RL", "grpo", None, "grpo", None, True),
    ("GRPO over all rounds, against AT-GRPO", "grpo", None, "at_grpo_expert", None, False),
    (
        "GRPO over all rounds, against GRPO on single answers in four rounds",
        *("grpo", None, "grpo_expert", "four_turns", False),
    ),
    ("MAGRPO of two agents, against no RL", "magrpo", None, "magrpo", None, True),
    ("AT-GRPO of two agents, against MAGRPO", "at_grpo", None, "magrpo", None, False),
    (
        "a model for each agent, against one for both",
        *("at_grpo_separate", None, "at_grpo", None, False),
    ),
)
PARTS = 6  # of a run, as its slope is told
_LOOK: Mapping[str, tuple[str, str]] = {
    "grpo_expert": ("one agent: GRPO, one round, from the expert", "#1a5fb4"),
    "grpo_one_turn": ("one agent: GRPO, one round", "#8ab4f8"),
    "at_grpo_expert": ("one agent: AT-GRPO, 4 rounds, from the expert", "#3c9d5b"),
    "at_grpo_one": ("one agent: AT-GRPO, 4 rounds", "#4285c8"),
    "at_grpo": ("two agents: AT-GRPO, 4 rounds", "#d9730d"),
}


def of_starts(rows: Sequence[Row]) -> dict[str, str]:
    """Held-out success of the starts that read cells, over the tasks that sft has shown them."""
    tables = {}
    for row in rows:
        lines = ["| tasks shown | success, sampled | greedy |", "| --- | --- | --- |"]
        for one in row["evaluations"]:
            shown = one["step"] * row["settings"]["episodes_per_step"]
            lines.append(f"| {shown:,} | {rate([one])} | {rate([one['greedy']])} |")
        tables[f"cells {row['model']}"] = "\n".join(lines)
    return tables


def of_runs(rows: Sequence[Row]) -> dict[str, str]:
    """What reinforcement gave, which way is better by tasks, and success in play over each run."""
    tables = {}
    for task, mine in by_task(rows).items():
        tables[f"reinforced {task}"] = _success(mine, WAYS)
        if of_arm(mine, "at_grpo_expert_8"):
            tables[f"reinforced others {task}"] = _success(mine, OTHERS)
            tables[f"reinforced others paired {task}"] = _compared(mine, OTHER_PAIRS)
        tables[f"reinforced paired {task}"] = _compared(mine, PAIRS)
        tables[f"reinforced slope {task}"] = _slopes(mine)
    return tables


def _success(rows: Sequence[Row], ways: Sequence[Way]) -> str:
    lines = [
        "| | agents | rounds | success, sampled | greedy | answers a task in play | tokens a task in play "
        "| each seed | tokens of training | minutes |",
        "|" + " --- |" * 10,
    ]
    for name, agents, rounds, arm, also, trained in ways:
        runs = of_arm(rows, arm)
        if not runs:
            lines.append(f"| {name} | {agents} | {rounds} | not run |" + " |" * 6)
            continue
        found = [after(row, also) if trained else row["before"] for row in runs]
        answers, tokens = play(found)
        cells = [rate(found), "" if also else rate([one["greedy"] for one in found])]
        cells += [
            f"{answers:.1f}",
            f"{tokens:.1f}",
            ", ".join(f"{f['success']:.1%}" for f in found),
        ]
        cost = ["", ""]
        if trained:
            spent = fmean(row["tokens"] for row in runs), fmean(row["seconds"] for row in runs)
            cost = [f"{spent[0] / 1000:,.0f}k", f"{spent[1] / 60:.1f}"]
        lines.append(f"| {name} | {agents} | {rounds} | {' | '.join([*cells, *cost])} |")
    return "\n".join(lines)


def _compared(rows: Sequence[Row], pairs: Sequence[Pair]) -> str:
    lines = ["| | tasks solved more often by the first | by the second | p |", "|" + " --- |" * 4]
    for name, first, also, second, condition, before in pairs:
        mine, theirs = with_equal_seeds(of_arm(rows, first), of_arm(rows, second))
        if not mine:
            lines.append(f"| {name} | not run | | |")
            continue
        found = verdict(marks(mine, also), marks(theirs, condition, before=before))
        lines.append(f"| {name} | {' | '.join(found)} |")
    return "\n".join(lines)


def _slopes(rows: Sequence[Row]) -> str:
    head = " | ".join(f"{part + 1}/{PARTS}" for part in range(PARTS))
    lines = [f"| | seed | {head} |", "|" + " --- |" * (PARTS + 2)]
    for arm, (name, _) in _LOOK.items():
        for row in of_arm(rows, arm):
            cells = [f"{success:.1%}" for _, success in parts_of(row, PARTS)]
            cells += [""] * (PARTS - len(cells))
            lines.append(f"| {name} | {row['seed']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def parts_of(row: Row, count: int) -> list[tuple[float, float]]:
    """A run in equal parts of its iterations, at most ``count``: tokens up to each part's end, and its mean
    success in play."""
    curve = row["curve"]
    count = min(count, len(curve))
    tokens = list(accumulate(point["tokens"] for point in curve))
    ends = [len(curve) * (part + 1) // count for part in range(count)]
    return [
        (tokens[end - 1], fmean(point["success"] for point in curve[begin:end]))
        for begin, end in zip([0, *ends], ends, strict=False)
    ]


def starts_figure(rows: Sequence[Row], path: Path) -> None:
    """Held-out success over the tasks shown, a panel for each start."""
    figure = Figure(figsize=(4.2 * len(rows) + 0.6, 3.4), dpi=130, layout="constrained")
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for axes, row in zip(panels, rows, strict=True):
        steps = [one["step"] * row["settings"]["episodes_per_step"] for one in row["evaluations"]]
        shown = [step / 1000 for step in steps]
        for name, found in (
            ("sampled", row["evaluations"]),
            ("greedy", [one["greedy"] for one in row["evaluations"]]),
        ):
            rates = [pool_success([one]) for one in found]
            spans = [[r - low for r, (low, _) in rates], [high - r for r, (_, high) in rates]]
            axes.errorbar(
                shown, [r for r, _ in rates], yerr=spans, marker="o", capsize=3, label=name
            )
        axes.set_title(f"{row['model']}, one answer")
        axes.set_xlabel("thousand tasks shown by sft", fontsize=9)
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.supylabel("success on held-out tasks", fontsize=9)
    figure.savefig(str(path))


def runs_figure(rows: Sequence[Row], path: Path) -> None:
    """Success over sampled tokens, a panel for each game: in play (lines), on held-out tasks (points)."""
    tasks = by_task(rows)
    figure = Figure(figsize=(6.2 * len(tasks) + 0.6, 3.8), dpi=130, layout="constrained")
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, (task, mine) in zip(panels, tasks.items(), strict=True):
        for arm, (name, colour) in _LOOK.items():
            for number, row in enumerate(of_arm(mine, arm)):
                label = name if number == 0 else None
                draw_run(axes, row, 2 * PARTS, 1e3, color=colour, label=label)
        axes.set_title(task)
        axes.set_xlabel("thousand sampled tokens", fontsize=9)
        axes.set_ylim(0.4, 1)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, loc="lower right")
    figure.supylabel("success", fontsize=9)
    figure.savefig(str(path))


def draw_run(axes: Axes, row: Row, parts: int, unit: float, **look: Any) -> None:
    """Success over tokens in ``unit``: in play (a line), held out before and after (points, 95% intervals)."""
    points = parts_of(row, parts)
    axes.plot([tokens / unit for tokens, _ in points], [mean for _, mean in points], **look)
    for place, one in ((0, row["before"]), (row["tokens"] / unit, row["after"])):
        success, (low, high) = pool_success([one])
        span = [[success - low], [high - success]]
        axes.errorbar(place, success, yerr=span, marker="o", capsize=3, color=look["color"])
