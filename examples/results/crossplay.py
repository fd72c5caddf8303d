"""Plays the first agent of one run beside the second agent of another, which differs in its seed alone.

    python examples/results/crossplay.py several --out runs/results

The runs are those of a study that have ended in ``--out``, of arms with a model for each agent. Each pair of
seeds is one line of JSON in ``NAME_crossplay.jsonl.gz`` there; those that it holds are not played again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import study
from logs import Row, read_log, write_log

_KEPT = ("ids", "solved", "success", "success_ci95", "tasks", "mean_return", "tokens")


def crossed(runs: Sequence[study.Run]) -> Iterator[tuple[study.Run, study.Run]]:
    """Every pair of runs with a model for each agent that differ in their seeds alone."""
    for one, other in permutations(runs, 2):
        if one.settings.get("policies") == "separate" and (one.task, one.arm) == (
            other.task,
            other.arm,
        ):
            yield one, other


def play(one: study.Run, other: study.Run, folder: Path) -> Row:
    """The test tasks of the first run, with its model as the first agent and the other's as the second."""
    from llmzoo import evaluate, make
    from llmzoo.runs.named_policies import load_policy_for_agents

    agents = make(one.settings["env"], **one.settings.get("env_args", {})).possible_agents
    first, second = (
        load_policy_for_agents(str(folder / run.name), agents, seed=one.seed)
        for run in (one, other)
    )
    found = evaluate(
        one.settings["env"],
        {agents[0]: first[agents[0]], agents[1]: second[agents[1]]},
        tasks=one.settings["eval_tasks"],
        seed=one.seed,
        env_args=one.settings.get("env_args", {}),
    ).to_dict()
    kept = {key: found[key] for key in _KEPT}
    return {
        "task": one.task,
        "arm": one.arm,
        "seeds": [one.seed, other.seed],
        "settings": {},
        **kept,
    }


def crossplay(name: str, out: Path, *, quick: bool = False) -> list[Any]:
    """Play what is not in the log yet, and write the log; the rows of all pairs."""
    planned = study.runs_of(study.read(name, quick=quick), out / "models")
    ended = [run for run in planned if (out / name / "lines" / f"{run.name}.json").exists()]
    log = out / f"{name}_crossplay.jsonl.gz"
    known = read_log(log) if log.exists() else []
    rows = {(row["task"], row["arm"], *row["seeds"]): row for row in known}
    for one, other in crossed(ended):
        key = one.task, one.arm, one.seed, other.seed
        if key not in rows:
            rows[key] = play(one, other, out / name / "runs")
            print(f"{name}: {key} {rows[key]['success']:.1%}", file=sys.stderr, flush=True)
            write_log(log, list(rows.values()))
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", help="name of a study beside this file")
    parser.add_argument("--out", type=Path, default=Path("runs/results"))
    parser.add_argument("--quick", action="store_true", help="of the study's small version")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    crossplay(args.study, args.out, quick=args.quick)


if __name__ == "__main__":
    main()
