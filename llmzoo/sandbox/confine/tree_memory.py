"""Limits the total memory of all processes of a run, for programs that may start processes.

The process that started the first process of the pid namespace sees the others in the /proc that it opened
before its root changed. It runs no code of a program. It gets the limit through a pipe.
"""

from __future__ import annotations

import os
import select
import signal
import struct
from contextlib import suppress

_CHECK_EVERY_S = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LIMIT = struct.Struct("Q")
# of a line of /proc/PID/stat, counted from its third field on; see proc(5)
_PARENT, _RESIDENT = 1, 21


def set_limit(pipe: int, size: int) -> None:
    """Limit the next run to ``size`` bytes; 0: nothing runs."""
    os.write(pipe, _LIMIT.pack(size))


def watch(first: int, limit_pipe: int, proc: int) -> None:
    """Kill the descendants of ``first`` when they use more than the limit; return when ``first`` has ended.

    ``limit_pipe``: the pipe of :func:`set_limit`. ``proc``: a descriptor of /proc.
    """
    limit = 0
    poll = select.poll()
    poll.register(limit_pipe, select.POLLIN)
    while True:
        if poll.poll(_CHECK_EVERY_S * 1000 if limit else None):
            message = os.read(limit_pipe, _LIMIT.size)
            if not message:
                os.waitpid(first, 0)
                return
            (limit,) = _LIMIT.unpack(message)
        if limit and _exceeds_limit(proc, first, limit):
            for pid in _descendants(_processes(proc), first):
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)


def _exceeds_limit(proc: int, first: int, limit: int) -> bool:
    """Whether the descendants of ``first`` use more than ``limit`` bytes."""
    processes = _processes(proc)
    descendants = _descendants(processes, first)
    # an upper bound, because shared pages count for each process
    if sum(processes[pid][1] for pid in descendants) <= limit:
        return False
    shared = processes[first][1] if first in processes else 0
    return sum(_process_bytes(proc, pid, processes[pid][1], shared) for pid in descendants) > limit


def _process_bytes(proc: int, pid: int, resident: int, shared: int) -> int:
    """The bytes of a process: its own, and its proportion of shared pages (Pss).

    If the kernel does not show Pss, they are the resident bytes beyond those of the first process.
    """
    try:
        rows = _read(proc, f"{pid}/smaps_rollup").splitlines()
        return next(int(row.split()[1]) << 10 for row in rows if row.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return max(0, resident - shared)


def _processes(proc: int) -> dict[int, tuple[int, int]]:
    """The parent and the bytes in memory of every process."""
    processes = {}
    for name in os.listdir(proc):
        if name.isdigit():
            try:
                fields = _read(proc, f"{name}/stat").rpartition(b")")[2].split()
            except OSError:
                continue  # it has just ended
            processes[int(name)] = int(fields[_PARENT]), int(fields[_RESIDENT]) * _PAGE
    return processes


def _descendants(processes: dict[int, tuple[int, int]], first: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    descendants: list[int] = []
    todo = [first]
    while todo:
        inner = children.get(todo.pop(), [])
        descendants += inner
        todo += inner
    return descendants


def _read(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
