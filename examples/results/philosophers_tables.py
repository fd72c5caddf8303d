"""The tables and the figure of docs/results/archive/philosophers.md, from the log of crowd_philosophers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from crowd_philosophers import LOG, TEMPERATURES
from logs import Row, read_rows
from matplotlib.figure import Figure
from readings import markdown

from llmzoo.evaluation.run_statistics import crossed_bootstrap_interval
from llmzoo.evaluation.statistics import Z95, clustered_wilson_interval

BEFORE, AFTER, OTHER = "#9aa0a6", "#1f5f99", "#d9730d"
NAMES = {
    "start_left": "before RL: imitates LeftFirst",
    "magrpo_5": "MAGRPO, reward of the environment",
    "four_terms_5": "MAGRPO, our reward of four terms",
    "at_grpo_5": "AT-GRPO",
    "ippo_5": "IPPO",
    "separate_5": "MAGRPO, a model for each agent",
    "start_expert": "before RL: then imitates the expert",
    "expert_5": "MAGRPO after it",
    "start_either": "before RL: imitates EitherFirst",
    "bounded_5": "MAGRPO, a model for each agent, 250 iterations",
    "bounded_shared_5": "the same, shared weights",
    "bounded_four_terms_5": "the same, a model for each agent, our reward of four terms",
    "unbounded_5": "the same, from EitherFirst, updates not bounded",
}
TITLES = {
    "deadlock": "dinners that end in a deadlock",
    "meals": "meals per round, of the best schedule",
}


def read(logs: Path) -> list[Row]:
    return read_rows(logs / LOG.name)


def find(rows: Sequence[Row], arm: str, agents: int, **wanted: Any) -> list[Row]:
    """A measurement of each run of an arm. ``wanted``: greedy, temperature, more; sampled at 1 without."""
    wanted = {"greedy": False, "temperature": 1.0, "more": {}, **wanted}
    return [
        found
        for row in sorted(rows, key=lambda row: row["seed"])
        if row["arm"] == arm
        for found in row["measured"]
        if found["agents"] == agents and {"temperature": 1.0, **found}.items() >= wanted.items()
    ]


def deadlock_rate(found: Sequence[Row]) -> tuple[float, float, float]:
    """The rate over all dinners, and its 95% Wilson interval; distinct tables are the units."""
    by_table = list(zip(*(map(int, one["deadlock"]) for one in found), strict=True))
    low, high = clustered_wilson_interval([[bool(x) for x in one] for one in by_table], Z95)
    return fmean(fmean(one) for one in by_table), low, high


def meal_share(found: Sequence[Row]) -> tuple[float, float, float]:
    """The share of the wanted meals that are had, and its 95% interval over runs and tables."""
    runs = [
        [had / wanted for had, wanted in zip(one["meals"], one["wanted"], strict=True)]
        for one in found
    ]
    return fmean(map(fmean, runs)), *crossed_bootstrap_interval(runs)


def _percent(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.0%} [{value[1]:.0%}, {value[2]:.0%}]"


def _each(found: Sequence[Row], key: str) -> str:
    return ", ".join(f"{_value(one, key):.0%}" for one in found)


def main_table(rows: Sequence[Row]) -> str:
    """Five philosophers: before RL, at lower temperatures, and after RL."""
    lines: list[list[Any]] = []
    for arm, name in NAMES.items():
        forms: dict[str, Mapping[str, Any]] = {"": {}, "greedy": {"greedy": True}}
        if arm.startswith("start_"):
            forms |= {f"temperature {t:g}": {"temperature": t} for t in TEMPERATURES}
        for form, wanted in forms.items():
            found = find(rows, arm, 5, **wanted)
            if found:
                fair = fmean(fmean(one["fairness"]) for one in found)
                cells = [_percent(deadlock_rate(found)), _each(found, "deadlock")]
                cells += [_percent(meal_share(found)), _each(found, "meals"), f"{fair:.2f}"]
                lines.append([f"{name}{', ' * bool(form)}{form}", len(found), *cells])
    head = [
        "",
        "runs",
        "deadlock",
        "each run",
        "meals, of the best schedule",
        "each run",
        "fairness",
    ]
    return markdown(head, lines)


def number_table(rows: Sequence[Row]) -> str:
    """Other numbers of philosophers: before RL, trained at 5, and trained at the number."""
    lines = []
    for agents in (2, 3, 5, 8):
        arms = {"before RL": "start_left", "trained with 5": "magrpo_5"}
        arms |= {f"trained with {agents}": f"magrpo_{agents}"}
        for name, arm in arms.items():
            if found := find(rows, arm, agents):
                greedy = find(rows, arm, agents, greedy=True)
                cells = [_percent(deadlock_rate(found)), _percent(meal_share(found))]
                cells += [f"{deadlock_rate(greedy)[0]:.0%}, {meal_share(greedy)[0]:.0%}"]
                lines.append([agents, name, len(found), *cells])
    head = ["philosophers", "", "runs", "deadlock", "meals", "greedy: deadlock, meals"]
    return markdown(head, lines)


def tables(logs: Path) -> dict[str, str]:
    rows = read(logs)
    if not rows:
        return {}
    return {"philosophers": main_table(rows), "philosophers by number": number_table(rows)}


def figure(logs: Path, path: Path) -> None:
    """Deadlocks and meals over the number of philosophers; a dot for each run."""
    rows = read(logs)
    if not rows:
        return
    drawn = Figure(figsize=(9, 3.4), dpi=130, layout="constrained")
    for axes, key in zip(drawn.subplots(1, 2), TITLES, strict=True):
        for name, arm, colour, shift, marker in (
            ("before RL", "start_left", BEFORE, -0.2, "o"),
            ("MAGRPO, shared weights", "magrpo_{}", AFTER, -0.05, "o"),
            ("MAGRPO, a model for each agent", "separate_{}", AFTER, 0.1, "^"),
            ("the same, from EitherFirst", "bounded_{}", AFTER, 0.4, "D"),
            ("AT-GRPO", "at_grpo_{}", OTHER, 0.2, "s"),
            ("IPPO", "ippo_{}", OTHER, 0.3, "x"),
        ):
            points = [
                (place + shift, _value(one, key))
                for place, agents in enumerate((2, 3, 5, 8))
                for one in find(rows, arm.format(agents), agents)
            ]
            if points:
                axes.scatter(
                    *zip(*points, strict=True), s=22, color=colour, marker=marker, label=name
                )
        axes.set_xticks(range(4), ["2", "3", "5", "8"])
        axes.set_xlim(-0.5, 3.5)
        axes.set_xlabel("philosophers")
        axes.set_ylim(-0.03, 1.03)
        axes.grid(alpha=0.3)
        axes.set_title(TITLES[key], fontsize=10)
    drawn.axes[1].legend(fontsize=7, loc="upper left")
    drawn.savefig(str(path))


def _value(one: Row, key: str) -> float:
    if key == "deadlock":
        return float(one["deadlock"].count("1") / len(one["deadlock"]))
    return fmean(had / wanted for had, wanted in zip(one["meals"], one["wanted"], strict=True))
