"""The tables of docs/results/, made from the logs of studies.

    python examples/results/tables.py                       # docs/results/logs -> docs/results
    python examples/results/tables.py --logs FOLDER --out FOLDER

A page holds each table between ``<!-- NAME -->`` and ``<!-- end -->``; what stands there is
replaced. Without pages in the output folder the tables are written to files of their own.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import anchor_tables
import answers
import by_learner
import cell_runs
import counterfactual
import crowd_hidden
import delegation
import equilibria
import exact_credit
import exact_model
import figures
import gains
import long_runs
import philosophers_tables
import pretrained
import sampled_model
import several
import sharpening_control
import single_runs
import taught_model
import tic_tac_toe
import tuning
import weak_starts
from logs import Row, read_log
from readings import (
    CURVES,
    TRAINED,
    by_task,
    controlled,
    in_order,
    markdown,
    marks,
    of_arm,
    play,
    rate,
    verdict,
    ways,
    with_equal_seeds,
)

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"


def of_games(rows: Sequence[Row]) -> dict[str, str]:
    """What RL gave to one agent and to two: a table of the games with controls, and those of each."""
    headline = {"headline": _headline(controlled(rows))}
    return headline | _each_game(rows, "games", "paired")


def of_longer(rows: Sequence[Row]) -> dict[str, str]:
    """The same with more tokens."""
    return _each_game(rows, "longer", "longer paired")


def _each_game(rows: Sequence[Row], success: str, against: str) -> dict[str, str]:
    """For each game a table with what it cost, and one of comparisons."""
    tables = {}
    for task, mine in by_task(rows).items():
        tables |= {f"{success} {task}": _game(mine), f"{against} {task}": _comparisons(mine)}
    return tables


def _headline(rows: Sequence[Row]) -> str:
    """The games beside one another: success, and sampled tokens of a task in play.

    Where a game has fewer seeds its cell says so.
    """
    tasks = by_task(rows)
    seeds = len({row["seed"] for row in rows})
    lines: dict[tuple[str, int], list[str]] = {}
    for mine in tasks.values():
        for way in ways(mine):
            count = len(way.measured)
            fewer = f" ({count} seed{'s' * (count > 1)})" * (count < seeds)
            cell = "not run"
            if count:
                cell = f"{rate(way.measured)}, {play(way.measured)[1]:.0f} tokens{fewer}"
            lines.setdefault((way.name, way.agents), []).append(cell)
    head = ["", "agents", *(f"`{task}`" for task in tasks)]
    return markdown(head, [[*way, *cells] for way, cells in lines.items()])


def _game(rows: Sequence[Row]) -> str:
    lines = []
    for way in sorted(ways(rows), key=lambda way: way.trained):  # no RL first
        if way.runs:
            greedy = rate(way.greedy) if way.greedy else ""
            cost = _cost(way.runs, way.measured) if way.trained else ["", "", ""]
            cells = [rate(way.measured), greedy, *_play(way.measured)]
            lines.append([way.name, way.agents, *cells, *cost])
    head = ["", "agents", "success, sampled", "greedy", *_PLAY, "each seed", *_TRAINING]
    return markdown(head, lines)


_PLAY = ("answers a task in play", "tokens a task in play")
_TRAINING = ("tokens of training", "minutes")


def _play(found: Sequence[Row]) -> list[str]:
    answers, tokens = play(found)
    return ["not recorded" if answers is None else f"{answers:.1f}", f"{tokens:.1f}"]


def _cost(rows: Sequence[Row], after: Sequence[Row]) -> list[str]:
    each = ", ".join(f"{one['success']:.1%}" for one in after)
    tokens = fmean(row["tokens"] for row in rows)
    return [each, f"{tokens / 1000:,.0f}k", f"{fmean(row['seconds'] for row in rows) / 60:.1f}"]


def _comparisons(rows: Sequence[Row]) -> str:
    """AT-GRPO against its start and every other arm, by distinct tasks; the seeds that both have."""
    lines: list[list[str]] = []
    shared = of_arm(rows, "at_grpo")
    if shared:
        found = verdict(marks(shared), marks(shared, before=True))
        lines.append(["AT-GRPO, one model, against: no RL", *found])
    for arm, name, agents, also in TRAINED:
        if arm == "at_grpo" or not of_arm(rows, arm) or not shared:
            continue
        other = f"one agent, {name}" if agents == 1 else name
        found = _paired(rows, "at_grpo", arm, also)
        lines.append([f"AT-GRPO, one model, against: {other}", *found])
    separate = of_arm(rows, "at_grpo_separate")
    if separate:
        own, swapped = marks(separate), marks(separate, "swapped")
        lines.append(["a model for each agent, against: the same, swapped", *verdict(own, swapped)])
    return markdown(["", "tasks solved more often by the first", "by the second", "p"], lines)


def _paired(rows: Sequence[Row], first: str, second: str, also: str | None) -> list[str]:
    both = with_equal_seeds(of_arm(rows, first), of_arm(rows, second))
    return verdict(marks(both[0]), marks(both[1], also))


def of_sensitivity(rows: Sequence[Row]) -> dict[str, str]:
    """A table for each setting."""
    tables = {}
    for name, arms in CURVES.items():
        lines = []
        for value, arm in arms.items():
            mine = of_arm(rows, arm)
            if mine:
                before, after = ([row[when] for row in mine] for when in ("before", "after"))
                cells = [rate(before), rate(after), _play(after)[1]]
                lines.append([value, *cells, *_cost(mine, after)])
        head = [name, "before", "after", "tokens a task in play", "each seed", *_TRAINING]
        tables[f"sensitivity {name}"] = markdown(head, lines)
    return tables


def of_ablations(rows: Sequence[Row]) -> dict[str, str]:
    """A table for each task: one change at a time, and on how many tasks it differs from none."""
    tables = {}
    for task, mine in by_task(rows).items():
        lines = []
        for arm in in_order(mine, "arm"):
            found = of_arm(mine, arm)
            if found:
                before, after = ([row[when] for row in found] for when in ("before", "after"))
                greedy = rate([one["greedy"] for one in after])
                cells = [f"`{arm}`", rate(before), rate(after), greedy]
                pairs = ["", "", ""] if arm == "base" else _against_base(mine, arm)
                lines.append([*cells, _play(after)[1], *pairs, *_cost(found, after)[1:]])
        head = ["", "before", "after, sampled", "greedy", _PLAY[1]]
        pairs = ["tasks solved more often by this", "by `base`", "p"]
        tables[f"ablations {task}"] = markdown([*head, *pairs, *_TRAINING], lines)
    return tables


def _against_base(rows: Sequence[Row], arm: str) -> list[str]:
    """In as many rounds as the base has."""
    also = "four_turns" if any("four_turns" in row["also"] for row in of_arm(rows, arm)) else None
    only_base, only_this, p = _paired(rows, "base", arm, also)
    return [only_this, only_base, p]


def of_models(rows: Sequence[Row]) -> dict[str, str]:
    """What sft made of the embedded model, before any reinforcement; one round."""
    lines = []
    for row in rows:
        before, after = row["before"], row["after"]
        start = row["settings"].get("model", "tiny")
        cells = [rate([one]) for one in (before, after, after["greedy"])]
        cost = [f"{row['tokens'] / 1000:,.0f}k", f"{row['seconds'] / 60:.1f}"]
        lines.append([f"`{row['model']}`", f"`{start}`", *cells, *cost])
    head = ["model", "made from", "before", "after, sampled", "greedy", "tokens", "minutes"]
    return {"models": markdown(head, lines)}


def of_signals(rows: Sequence[Row]) -> dict[str, str]:
    """Each run: whether the agents agree on a code, and how long it took until they nearly always do."""
    lines = []
    for row in rows:
        rates = [rate([row["after"]]), rate([row["after"]["greedy"]])]
        reached = _steady(row["curve"], 0.95)
        until = ["never", ""]
        if reached is not None:
            spent = row["curve"][: reached + 1]
            seconds = sum(point["rollout_seconds"] + point["update_seconds"] for point in spent)
            until = [str(reached + 1), f"{seconds:.0f}"]
        lines.append([f"`{row['arm']}`", row["seed"], *rates, *until])
    head = ["learner", "seed", "success, sampled", "greedy", "iterations to 95%", "seconds to 95%"]
    return {"signals": markdown(head, lines)}


def of_neighbours(rows: Sequence[Row]) -> dict[str, str]:
    """Each task of another collection: the embedded model, after sft where there is any, after RL."""
    lines = []
    for row in rows:
        measured = [("embedded model", row["before"])]
        if "stages" in row:
            measured.append(("after sft", row["evaluations"][1]))
        task = f"`{row['settings']['env']}`"
        for name, found in [*measured, ("after RL", row["after"])]:
            returns = ", ".join(
                f"{found['mean_return'][agent]:.2f} [{low:.2f}, {high:.2f}]"
                for agent, (low, high) in found["return_ci95"].items()
            )
            lines.append([task, name, rate([found]), returns])
    head = ["task", "", "success, sampled", "return of each agent"]
    return {"neighbours": markdown(head, lines)}


def _steady(curve: Sequence[Row], level: float, length: int = 5) -> int | None:
    """The first iteration from which ``length`` in a row have at least this success; None: there is none."""
    starts = range(len(curve) - length + 1)
    return next(
        (i for i in starts if all(one["success"] >= level for one in curve[i : i + length])), None
    )


STUDIES: dict[str, Callable[[Sequence[Row]], dict[str, str]]] = {
    "games": of_games,
    "longer": of_longer,
    "learners": by_learner.tables,
    "sensitivity": of_sensitivity,
    "ablations": of_ablations,
    "models": of_models,
    "cells": cell_runs.of_starts,
    "games_cells": cell_runs.of_runs,
    "games_cells_long": long_runs.tables,
    "games_long": long_runs.tables,
    "tuning": tuning.tables,
    "games_rates": tuning.grid,
    "games_cells_rates": tuning.grid,
    "smollm2": pretrained.tables,
    "smollm2_learners": pretrained.of_learners,
    "adapter_rates": pretrained.of_rates,
    "signals": of_signals,
    "neighbours": of_neighbours,
    "kuhn": equilibria.tables,
    "tic_tac_toe": tic_tac_toe.tables,
    "counterfactual": counterfactual.tables,
    "several_longer": several.longer_tables,
    "strangers": weak_starts.tables,
    "step_bound": weak_starts.of_bound,
    "crowd_delegation": delegation.tables,
    "crowd_hidden_profile": crowd_hidden.tables,
    "coverage": single_runs.tables,
}
# of models and games without runs of fit, from logs of one line a run or a measurement
EXACT: dict[str, Callable[[Sequence[Any]], str]] = {
    "exact_credit": exact_credit.table_of,
    "exact_model": exact_model.table_of,
    "sampled_model": sampled_model.table_of,
    "taught_model": taught_model.table_of,
    "crowd_delegation_limits": delegation.limits_table,
}


def tables_of(logs: Path) -> dict[str, str]:
    """The tables of all logs that are there, by name."""
    tables = {
        name: text
        for study, make in STUDIES.items()
        if (logs / f"{study}.jsonl.gz").exists()
        for name, text in make(read_log(logs / f"{study}.jsonl.gz")).items()
    }
    if (logs / "several.jsonl.gz").exists():
        tables |= several.tables(*several.read(logs))
    if (logs / "learners_rates.jsonl.gz").exists():
        tables |= by_learner.rates(logs)
    tables |= gains.table(logs) | answers.tables(logs) | philosophers_tables.tables(logs)
    tables |= anchor_tables.tables(logs)
    if (logs / sharpening_control.LOG.name).exists():
        tables["sharpening control"] = sharpening_control.table(logs)
    measured = logs / "smollm2_signal.jsonl"
    tables |= pretrained.signal(measured) if measured.exists() else {}
    for name, table_of in EXACT.items():
        if (log := logs / f"{name}.jsonl").exists():
            rows = [json.loads(line) for line in log.read_text().splitlines()]
            tables[name.replace("_", " ")] = table_of(rows)
    return tables


def placed(page: str, tables: Mapping[str, str]) -> str:
    """The page with its tables replaced."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n{tables[name]}\n<!-- end -->" if name in tables else match[0]

    return re.sub(r"<!-- ([\w ]+) -->\n.*?<!-- end -->", one, page, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=Path, default=RESULTS / "logs")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    tables = tables_of(args.logs)
    args.out.mkdir(parents=True, exist_ok=True)
    pages = sorted(args.out.rglob("*.md"))
    if args.out == RESULTS:
        pages += [ROOT / "README.md", ROOT / "docs" / "external.md", ROOT / "docs" / "paper.md"]
    for page in pages:
        page.write_text(placed(page.read_text(), tables))
    if not pages:
        for name, text in tables.items():
            (args.out / f"{name.replace(' ', '_')}.md").write_text(text + "\n")
    figures.draw(args.logs, ROOT / "docs" / "images" if args.out == RESULTS else args.out)


if __name__ == "__main__":
    main()
