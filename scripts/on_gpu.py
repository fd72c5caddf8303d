"""Measures this project on a GPU that is there for a quarter of an hour.

    python scripts/on_gpu.py --out gpu.jsonl
    python scripts/on_gpu.py --out gpu.jsonl --parts decode,update --minutes 4

Where nothing is installed, torch, transformers, peft, pettingzoo, gymnasium and pytest-xdist are needed.
Each result is appended to the file as soon as it is there, and printed. A second call with the same
file leaves out what this commit has measured on this device. Parts, in their order:

- ``tests``: tests/gpu/test_real_gpu.py
- ``decode``: milliseconds a token, with and without CUDA graphs and adapters
- ``kernels``: of one token
- ``update``: a pass with gradients, and its kernels
- ``attention``: of one layer in float32, with and without tensor cores
- ``trl``: a training step beside TRL's
- ``study``: the runs of examples/results/queue.yaml that are in no log, ``--jobs`` of them at a time

``study`` needs ``llmzoo fetch smollm2``; see docs/performance.md for a machine without a network. The other
parts need no download: their model has SmolLM2-135M's shape and random weights. A part that fails leaves
a row that says why.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the machine may have nothing of ours installed

from scripts.gpu_measurements import (  # noqa: E402
    QUICK,
    WHOLE,
    Result,
    Sizes,
    attention,
    decode,
    kernels,
    update,
)

PARTS = ("tests", "decode", "kernels", "update", "attention", "trl", "study")
PRECISIONS = ("float32", "bf16")
RESULTS = ROOT / "examples" / "results"


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement; ``most``: seconds that it may need."""

    name: str
    most: float
    measure: Callable[[], Result]


@dataclass(frozen=True, slots=True)
class Plan:
    """``end``: when all must be over, by the monotonic clock. ``jobs``: runs of studies at a time."""

    sizes: Sizes
    end: float
    jobs: int = 1


def cells(parts: Sequence[str], plan: Plan) -> Iterator[Cell]:
    for part in PARTS:
        if part in parts:
            yield from _CELLS[part](plan)


def _tests(plan: Plan) -> Iterator[Cell]:
    args = ["-m", "pytest", "tests/gpu/test_real_gpu.py", "-m", "", "-q", "-n", "8"]
    yield Cell("tests", 240, partial(run, args, plan.end))


def _decoding(plan: Plan) -> Iterator[Cell]:
    sizes = plan.sizes
    for precision in PRECISIONS:
        for adapters in (0, 2):
            for rows in sizes.rows:
                for graphs in (True, False):
                    if not graphs and rows != sizes.rows[0]:
                        continue  # slow, and known
                    name = f"decode {precision} {adapters} adapters {rows} rows" + " graph" * graphs
                    yield Cell(name, 60, partial(decode, sizes, precision, adapters, rows, graphs))


def _kernels(plan: Plan) -> Iterator[Cell]:
    yield Cell("kernels bf16 graph", 60, partial(kernels, plan.sizes))


def _updates(plan: Plan) -> Iterator[Cell]:
    for precision in PRECISIONS:
        for compiled in (False, True):
            name = f"update {precision}" + " compiled" * compiled
            yield Cell(name, 90, partial(update, plan.sizes, precision, compiled))


def _attention(plan: Plan) -> Iterator[Cell]:
    for cores in (False, True):
        name = "attention float32" + " tensor cores" * cores
        yield Cell(name, 60, partial(attention, plan.sizes, cores))


def _beside_trl(plan: Plan) -> Iterator[Cell]:
    for new in (32, 128):
        args = ["examples/benchmark/training_step.py", "--millions", "135", "--only", str(new)]
        args += ["--k", "8", "--peers", "trl", "--threads", "4", "--plain", "--repeats", "3"]
        yield Cell(f"step beside TRL {new} new tokens", 120, partial(run, args, plan.end))


def _study_runs(plan: Plan) -> Iterator[Cell]:
    for study, name, seconds in missing_runs():
        measure = partial(study_run, study, name, plan)
        yield Cell(f"study {study} {name}", seconds, measure)


_CELLS: Mapping[str, Callable[[Plan], Iterator[Cell]]] = {
    "tests": _tests,
    "decode": _decoding,
    "kernels": _kernels,
    "update": _updates,
    "attention": _attention,
    "trl": _beside_trl,
    "study": _study_runs,
}


def missing_runs() -> list[tuple[str, str, float]]:
    """The runs of the queue that are in no log: study, name and seconds, in the queue's order."""
    sys.path.insert(0, str(RESULTS))
    import run_queue

    queue = run_queue.read_queue((RESULTS / "queue.yaml").read_text(), gpu=True)
    return [
        (run.study, run.name, 60 * run.minutes) for run in run_queue.pending(queue, run_queue.LOGS)
    ]


def study_run(study: str, name: str, plan: Plan) -> Result:
    """A run of a study; its line of the log. A later call goes on where this one was cut off."""
    out = ROOT / "runs" / "on_gpu"
    args = [str(RESULTS / "study.py"), study, "--only", name, "--out", str(out)]
    args += ["--memory_share", str(1 / plan.jobs)]
    result = run([*args, "--quick"] if plan.sizes is QUICK else args, plan.end)
    line = out / study / "lines" / f"{name}.json"
    return {**result, "line": json.loads(line.read_text()) if line.exists() else None}


def run(args: Sequence[str], end: float) -> Result:
    """Another program; what it printed last. It ends with all its processes at ``end``, if not before."""
    python_path = str(ROOT), os.environ.get("PYTHONPATH")
    program = subprocess.Popen(
        [sys.executable, *args],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, python_path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = program.communicate(timeout=end - time.monotonic())
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        said, _ = program.communicate()
    result = {"code": program.returncode, "said": said[-4000:]}
    return result if program.returncode == 0 else {**result, "error": "it failed or took too long"}


def where() -> dict[str, str]:
    """The device, the libraries and the commit of a row."""
    try:
        commit = subprocess.check_output(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True
        ).strip()
    except (OSError, subprocess.CalledProcessError):  # the files alone were copied here
        commit = f"unknown, of {time.time():.0f}"  # so nothing counts as measured already
    return {
        "device": torch.cuda.get_device_properties(0).name,
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "commit": commit,
    }


class Rows:
    """The file of results; ``end``: when all must be over, by the monotonic clock."""

    def __init__(self, path: Path, where: Mapping[str, str], end: float):
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self._known = {row["name"] for row in rows if row["where"] == where and "error" not in row}
        self._path, self._where, self._end = path, where, end
        self._lock = threading.Lock()

    def add(self, cell: Cell) -> None:
        """Measure what the file lacks, if the time allows it."""
        if cell.name in self._known:
            return
        if time.monotonic() + cell.most > self._end:
            print(f"{cell.name}: no time left")
            return
        row: dict[str, Any] = {"name": cell.name}
        try:
            gc.collect()  # the model and the steps of the cell before
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            row |= cell.measure()
        except Exception as error:  # the other cells are worth their time
            row |= {"error": repr(error), "trace": traceback.format_exc()[-2000:]}
        with self._lock, self._path.open("a") as file:
            file.write(json.dumps({**row, "where": self._where}) + "\n")
        told = {key: value for key, value in row.items() if key not in ("trace", "line")}
        print(told, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS), help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=9.0, help="none begins that may end later")
    parser.add_argument("--jobs", type=int, default=1, help="runs of studies at a time")
    parser.add_argument("--quick", action="store_true", help="a small model")
    args = parser.parse_args(argv)
    parts = args.parts.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--parts are of {', '.join(PARTS)}; got {args.parts}")
    if not torch.cuda.is_available():
        print("no GPU of CUDA is here", file=sys.stderr)
        return 2
    end = time.monotonic() + 60 * args.minutes
    plan = Plan(QUICK if args.quick else WHOLE, end, args.jobs)
    rows = Rows(args.out, where(), end)
    for cell in cells([part for part in parts if part != "study"], plan):
        rows.add(cell)
    if "study" in parts:
        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(rows.add, cells(["study"], plan)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
