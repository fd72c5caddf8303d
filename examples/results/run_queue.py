"""Does the next runs of the queue (queue.yaml) that are in no log, as many as fit the time.

    python examples/results/run_queue.py --minutes 60
    python examples/results/run_queue.py --list
    python examples/results/run_queue.py --add gpu.jsonl

Each run's row goes into its study's log under docs/results/logs as soon as it has ended. A run that is cut
off goes on at the next call, on the same machine. With a GPU the costs are those of a GPU. ``--add``: the rows
that ``scripts/on_gpu.py`` left go into the logs. Afterwards
``examples/results/tables.py`` and ``docs/build.py`` bring the pages up to date.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from logs import read_log, row_name, write_log

HERE = Path(__file__).resolve().parent
LOGS = HERE.parents[1] / "docs" / "results" / "logs"


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """``name``: TASK-ARM-SEED. ``minutes``: what it takes on one core, or on a GPU."""

    study: str
    name: str
    minutes: float


def read_queue(text: str, *, gpu: bool) -> list[QueuedRun]:
    """The runs of a queue in their order, each block one seed after another."""
    cost = "gpu_minutes" if gpu else "minutes"
    return [
        QueuedRun(block["study"], f"{run}-{seed}", block[cost])
        for block in yaml.safe_load(text)
        for seed in block["seeds"]
        for run in block["runs"]
    ]


def pending(queue: Sequence[QueuedRun], logs: Path) -> list[QueuedRun]:
    """Those that the studies' logs lack."""
    ended = {study: set(logged_names(logs, study)) for study in {run.study for run in queue}}
    return [run for run in queue if run.name not in ended[run.study]]


def logged_names(logs: Path, study: str) -> Iterator[str]:
    log = logs / f"{study}.jsonl.gz"
    for row in read_log(log) if log.exists() else ():
        yield row_name(row)


def add_to_log(logs: Path, study: str, row: Mapping[str, Any]) -> None:
    log = logs / f"{study}.jsonl.gz"
    write_log(log, [*(read_log(log) if log.exists() else ()), row])


def add_measured(logs: Path, file: Path) -> None:
    """Add the runs of a file of ``scripts/on_gpu.py`` that no log has."""
    for line in file.read_text().splitlines():
        measured = json.loads(line)
        part, study, *_ = [*measured["name"].split(), ""]
        row = measured.get("line")
        if part == "study" and row and row_name(row) not in logged_names(logs, study):
            add_to_log(logs, study, row)


def next_fitting(queue: Sequence[QueuedRun], minutes: float) -> QueuedRun | None:
    """The first run that takes no longer than this."""
    return next((run for run in queue if run.minutes <= minutes), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="begin no run that takes longer"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/results"))
    parser.add_argument("--list", action="store_true", help="print what is left")
    parser.add_argument("--add", type=Path, help="rows of scripts/on_gpu.py, for the logs")
    args = parser.parse_args()
    if args.add:
        add_measured(LOGS, args.add)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import study
    import torch

    queue = read_queue((HERE / "queue.yaml").read_text(), gpu=torch.cuda.is_available())
    if args.list:
        for run in pending(queue, LOGS):
            print(f"{run.minutes:>5} min  {run.study} {run.name}")
        return
    end = time.monotonic() + 60 * args.minutes
    while run := next_fitting(pending(queue, LOGS), (end - time.monotonic()) / 60):
        planned = study.runs_of(study.read(run.study, quick=False), args.out / "models")
        (found,) = (each for each in planned if each.name == run.name)
        row = study.train(found, args.out / run.study)
        add_to_log(LOGS, run.study, row)
        print(study._say(row), flush=True)


if __name__ == "__main__":
    main()
