"""Notices that other processes, or the host of a virtual machine, take the cores that torch counts on.

torch divides an operation among its threads and waits for the slowest. On a busy machine a thread
waits for a core, and all others wait for it, so two threads can be many times slower than one.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

_STAT = Path("/proc/stat")  # Linux; proc(5)
_SHORTEST = 0.1  # seconds; the kernel counts in steps of a hundredth
_FREE = 0.5  # a core of which others use less is free


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUsage:
    """Seconds since a fixed time. ``busy`` and ``stolen``: over all cores; ``own``: of this process."""

    clock: float
    busy: float
    stolen: float
    own: float


def read_cpu_usage() -> CpuUsage | None:
    """The machine's counters now; None where the kernel does not offer them."""
    try:
        user, nice, system, _, _, irq, softirq, steal = map(
            int, _STAT.read_text().split("\n", 1)[0].split()[1:9]
        )
    except (OSError, ValueError):
        return None
    second = os.sysconf("SC_CLK_TCK")
    return CpuUsage(
        clock=time.monotonic(),
        busy=(user + nice + system + irq + softirq) / second,
        stolen=steal / second,
        own=time.process_time(),
    )


def contention_warning(before: CpuUsage, after: CpuUsage, *, cores: int, threads: int) -> str:
    """What to tell the user about the time between two readings; "" if there is nothing to say."""
    seconds = after.clock - before.clock
    if threads == 1 or seconds < _SHORTEST:
        return ""
    stolen = (after.stolen - before.stolen) / seconds
    others = (after.busy - before.busy - after.own + before.own) / seconds
    free = max(1, int(cores - others - stolen + _FREE))
    if free >= threads:
        return ""
    lost = f", and its host withholds {stolen:.1f}" if stolen >= 0.1 else ""
    return (
        f"other processes use {max(0.0, others):.1f} of this machine's {cores} cores{lost}, while "
        f"torch computes with {threads} threads that wait for each other. OMP_NUM_THREADS={free} "
        "may be several times as fast"
    )


@contextmanager
def warn_if_cpu_contended() -> Iterator[None]:
    """Warns if the machine is busy with other things during the context.

    The number of threads stays as it is. It decides how sums are rounded, so a run that chose it by
    the load of the moment could not be repeated or resumed exactly.
    """
    before = read_cpu_usage()
    yield
    after = read_cpu_usage()
    if before is not None and after is not None:
        cores, threads = os.cpu_count() or 1, torch.get_num_threads()
        if text := contention_warning(before, after, cores=cores, threads=threads):
            warnings.warn(text, stacklevel=3)
