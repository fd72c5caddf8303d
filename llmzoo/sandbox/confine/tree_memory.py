"""Limits the memory of all processes of a run together, where a program may start processes.

The process that started the first process of the pid namespace sees the others through the /proc that it
opened before its root changed. It runs no code of a program. The limit comes through a pipe.
"""

from __future__ import annotations

import os
import select
import signal
import struct
from contextlib import suppress

_LOOK_EVERY_S = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LIMIT = struct.Struct("Q")
# of a line of /proc/PID/stat, counted from its third field on; see proc(5)
_PARENT, _RESIDENT = 1, 21


def set_limit(pipe: int, size: int) -> None:
    """Limit the next run to ``size`` bytes; 0: nothing runs."""
    os.write(pipe, _LIMIT.pack(size))


def watch(first: int, limits: int, proc: int) -> None:
    """Kill the processes below ``first`` when they hold more than the limit; return when it has ended.

    ``limits``: the pipe of :func:`set_limit`. ``proc``: a descriptor of /proc.
    """
    limit = 0
    poll = select.poll()
    poll.register(limits, select.POLLIN)
    while True:
        if poll.poll(_LOOK_EVERY_S * 1000 if limit else None):
            message = os.read(limits, _LIMIT.size)
            if not message:
                os.waitpid(first, 0)
                return
            (limit,) = _LIMIT.unpack(message)
        if limit and _exceeds_limit(proc, first, limit):
            for pid in _descendants(_processes(proc), first):
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)


def _exceeds_limit(proc: int, first: int, limit: int) -> bool:
    """Whether the processes below ``first`` hold more than ``limit`` bytes."""
    found = _processes(proc)
    below = _descendants(found, first)
    if sum(found[pid][1] for pid in below) <= limit:  # shared pages count for each: the most
        return False
    shared = found[first][1] if first in found else 0
    return sum(_own_bytes(proc, pid, found[pid][1], shared) for pid in below) > limit


def _own_bytes(proc: int, pid: int, resident: int, shared: int) -> int:
    """Bytes that a process holds, and its share of what it shares.

    A fork that may not be looked into counts with what it has beyond the process that it is a fork of.
    """
    try:
        rows = _read(proc, f"{pid}/smaps_rollup").splitlines()
        return next(int(row.split()[1]) << 10 for row in rows if row.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return max(0, resident - shared)


def _processes(proc: int) -> dict[int, tuple[int, int]]:
    """The parent and the bytes in memory of every process."""
    found = {}
    for name in os.listdir(proc):
        if name.isdigit():
            try:
                fields = _read(proc, f"{name}/stat").rpartition(b")")[2].split()
            except OSError:
                continue  # it has just ended
            found[int(name)] = int(fields[_PARENT]), int(fields[_RESIDENT]) * _PAGE
    return found


def _descendants(found: dict[int, tuple[int, int]], first: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in found.items():
        children.setdefault(parent, []).append(pid)
    below: list[int] = []
    todo = [first]
    while todo:
        inner = children.get(todo.pop(), [])
        below += inner
        todo += inner
    return below


def _read(proc: int, path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
