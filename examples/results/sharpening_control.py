"""How much of what training gave does the start reach at a lower temperature?

    python examples/results/sharpening_control.py      # writes docs/results/logs/sharpening_control.jsonl

Plays the first test tasks of each study with the model that its runs start from, untrained, at lower
temperatures under three seeds. Forms that several arms share are played once; those that are there already are not
repeated. Left out are starts that take more than minutes to make, which have their greedy success alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import study
from answers import GAMES, SIGNALS, Arm, runs_of
from logs import Row, read_rows
from readings import markdown

LOG = Path(__file__).resolve().parents[2] / "docs" / "results" / "logs" / "sharpening_control.jsonl"
TEMPERATURES = (0.5, 0.3, 0.1)
SEEDS = (0, 1, 2)
TASKS = 200  # at most
# starts of a minute of sft; those of games and cells take an hour, and are left out
QUICK = ("sudoku_split", "sudoku_lone", "equations_team")
SEVERAL = tuple(
    Arm("several_longer", task, arm, 2 if arm in ("two", "split") else 1, f"{task}, `{arm}`")
    for task, arms in {
        "sudoku": ("one", "one_more", "two", "split"),
        "sums": ("one", "one_more", "two", "split"),
        "equations": ("one_more", "split"),
        "functions": ("one", "two"),
        "signal": ("one", "split"),
    }.items()
    for arm in arms
)
LEARNERS = tuple(
    Arm("learners", task, arm, 2, f"{name}, `{arm}`")
    for task, arm, name in (
        ("sudoku_v0", "ippo", "sudoku, 1 round"),
        ("coop_functions_v0", "mareinforce", "functions"),
        ("math_v0", "marloo", "sums"),
    )
)
ARMS = (*GAMES, *LEARNERS, *SEVERAL, *SIGNALS)


@cache
def _planned(name: str) -> list[study.Run]:
    return list(study.runs_of(study.read(name, quick=False), Path("models")))


def form_of(arm: Arm) -> dict[str, Any] | None:
    """What the start plays: model, environment and its arguments, tasks, longest completion; None: left out."""
    run = next(run for run in _planned(arm.study) if (run.task, run.arm) == (arm.task, arm.arm))
    model = Path(run.settings["model"]).name
    if model != "tiny" and model not in QUICK:
        return None
    return {
        "model": model,
        "env": run.settings["env"],
        "env_args": study.env_args_of(run),
        "tasks": min(TASKS, run.settings["eval_tasks"]),
        "max_new_tokens": study.settings_of(run).sampling().max_new_tokens,
    }


def played(form: Mapping[str, Any], models: Path, known: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The measurements of a form that are not known yet."""
    from llmzoo import evaluate
    from llmzoo.policies import load

    wanted = [(t, s) for t in TEMPERATURES for s in SEEDS]
    wanted = [w for w in wanted if not any(_is(row, form, *w) for row in known)]
    if not wanted:
        return
    name = form["model"]
    if name != "tiny":
        settings = study.read("models", quick=False)[name]
        study.train_model({"model": "tiny", **settings}, models / name)
        name = str(models / name)
    policy = load(name).with_sampling(max_new_tokens=form["max_new_tokens"])
    for temperature, seed in wanted:
        found = evaluate(
            form["env"],
            policy.with_sampling(temperature=temperature),
            tasks=form["tasks"],
            seed=seed,
            env_args=form["env_args"],
        )
        yield {**form, "temperature": temperature, "seed": seed, "success": found.success}


def _is(row: Row, form: Mapping[str, Any], temperature: float, seed: int) -> bool:
    there = {key: row[key] for key in form}
    return there == form and (row["temperature"], row["seed"]) == (temperature, seed)


def table(logs: Path) -> str:
    """A row an arm: the start at each temperature, and the trained runs at temperature 1."""
    known = read_rows(logs / LOG.name)
    lines = []
    for arm in ARMS:
        form = form_of(arm)
        if form is None:
            continue
        runs = runs_of(logs, arm)
        before, trained = (
            100 * fmean(row[when]["success"] for row in runs) for when in ("before", "after")
        )
        control = [
            100 * fmean(row["success"] for row in known if _is(row, form, t, row["seed"]))
            for t in TEMPERATURES
        ]
        share = max(0.0, max(control) - before) / (trained - before)
        cells = [f"{value:.1f}" for value in (before, *control, trained)]
        lines.append([arm.name, arm.agents, *cells, f"{min(1.0, share):.0%}"])
    untrained = [f"untrained, T = {t:g}" for t in (1.0, *TEMPERATURES)]
    return markdown(["", "agents", *untrained, "trained, T = 1", "explained"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--models", type=Path, default=Path("runs/results/models"))
    args = parser.parse_args()
    known = read_rows(args.log)
    for form in filter(None, map(form_of, ARMS)):
        for row in played(form, args.models, known):
            known.append(row)
            with args.log.open("a") as log:
                log.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
