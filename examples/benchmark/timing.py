"""What every comparison here reports, and how it takes its times."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypedDict


class Row(TypedDict):
    """One comparison. ``ratio`` is above 1 where ours is better, whatever the unit."""

    name: str
    ours: float
    theirs: float | None
    ratio: float | None
    unit: str
    higher_is_better: bool


def row(
    name: str, ours: float, unit: str, *, theirs: float | None = None, higher_is_better: bool = True
) -> Row:
    ratio = None
    if theirs is not None:
        ratio = ours / theirs if higher_is_better else theirs / ours
    return Row(
        name=name,
        ours=ours,
        theirs=theirs,
        ratio=ratio,
        unit=unit,
        higher_is_better=higher_is_better,
    )


def rate(work: Callable[[], int], seconds: float) -> float:
    """Units per second: ``work`` returns how many it did, and is called until the time is up."""
    work()  # whatever is made at the first call is not timed
    units, began = 0, time.perf_counter()
    while True:
        units += work()
        spent = time.perf_counter() - began
        if spent >= seconds:
            return units / spent


def alternating(works: Sequence[Callable[[], int]], repeats: int) -> list[float]:
    """Median units per second of each work, taken in turn, so that a busy machine hits all alike."""
    rates: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(repeats):
        for found, work in zip(rates, works, strict=True):
            began = time.perf_counter()
            units = work()
            found.append(units / (time.perf_counter() - began))
    return [statistics.median(found) for found in rates]


def peak_memory(script: str, *arguments: str) -> float:
    """The most memory, in MB, that a script with these arguments ever held, libraries included."""
    run = subprocess.run(
        [sys.executable, "-c", _WATCHED, script, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(run.stdout.split()[-1]) / 1e3


# the script as it would run by itself, and then its high-water mark in kB
_WATCHED = """
import os, re, runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
with open("/proc/self/status") as status:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read()).group(1))
"""
