"""What the processes of a run do, seen from outside through /proc."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_PERIOD_S = 0.02
_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    started: int  # with the pid, this tells a process from a later one of the same number
    state: str
    nice: int
    name: str


def read_process(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Process(pid, int(fields[1]), int(fields[19]), fields[0], int(fields[16]), name)


def descendants(root: int) -> list[Process]:
    """All live processes below ``root``; inside it is pid 1, so that none can leave the tree."""
    everyone = [read_process(int(name)) for name in os.listdir("/proc") if name.isdigit()]
    children: dict[int, list[Process]] = {}
    for process in everyone:
        if process:
            children.setdefault(process.parent, []).append(process)
    result, todo = [], [root]
    while todo:
        for process in children.get(todo.pop(), ()):
            todo.append(process.pid)
            if process.state not in "ZX":
                result.append(process)
    return result


def condition(process: Process) -> dict[str, str]:
    """What others could have done to a process: stopped it, traced it, changed its limits."""
    folder = f"/proc/{process.pid}"
    try:
        status = dict(
            line.split(":", 1) for line in Path(f"{folder}/status").read_text().splitlines()
        )
        limits = Path(f"{folder}/limits").read_text()
        oom = Path(f"{folder}/oom_score_adj").read_text()
    except OSError:
        return {}
    return {
        "stopped": str(process.state in "Tt"),
        "traced": status["TracerPid"].strip(),
        "nice": str(process.nice),
        "affinity": status["Cpus_allowed"].strip(),
        "limits": limits,
        "oom_score_adj": oom.strip(),
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


@dataclass(slots=True)
class PeakUsage:
    """The most that was seen at any moment of a run, and everything that was ever seen."""

    processes: int = 0
    threads: int = 0
    memory_mb: float = 0.0  # of all processes but the asking one
    trainer_mb: float = 0.0
    descriptors: int = 0  # of one process
    file_mb: float = 0.0  # the largest file that was open
    disk_mb: float = 0.0  # written to any file system
    files: int = 0
    links: Counter[str] = field(default_factory=Counter)  # what descriptors led to
    user_namespaces: set[str] = field(default_factory=set)
    roots: set[str] = field(default_factory=set)
    personalities: set[str] = field(default_factory=set)
    mounts: str = ""
    lag_s: float = 0.0  # how much longer than asked the watch slept, all together: a busy machine


class Watch(threading.Thread):
    """Looks at the descendants of ``root`` all the time; ``trainer`` is the one that asked."""

    def __init__(self, root: int, trainer: int) -> None:
        super().__init__(daemon=True)
        self.root, self.trainer = root, trainer
        self.seen = PeakUsage()
        self._over = threading.Event()
        self._disks: dict[int, tuple[float, int]] = {}

    def run(self) -> None:
        while not self._over.is_set():
            self._look()
            slept_from = time.monotonic()
            self._over.wait(_PERIOD_S)
            self.seen.lag_s += max(0.0, time.monotonic() - slept_from - _PERIOD_S)

    def stop(self) -> PeakUsage:
        self._over.set()
        self.join()
        return self.seen

    def _look(self) -> None:
        seen, processes = self.seen, descendants(self.root)
        threads, memory = 0, 0.0
        for process in processes:
            folder = f"/proc/{process.pid}"
            status = dict(
                line.split(":\t", 1)
                for line in _text(f"{folder}/status").splitlines()
                if ":\t" in line
            )
            threads += int(status.get("Threads", 1))
            size = int(status.get("VmRSS", "0 kB").split()[0]) / 1024
            if process.pid == self.trainer:
                seen.trainer_mb = max(seen.trainer_mb, size)
                continue
            memory += size
            seen.user_namespaces.add(_link(f"{folder}/ns/user"))
            seen.roots.add(_link(f"{folder}/root"))
            seen.personalities.add(_text(f"{folder}/personality").strip())
            seen.mounts += "".join(
                line
                for line in _text(f"{folder}/mountinfo").splitlines()
                if "mark" in line and line not in seen.mounts
            )
            self._sample_descriptors(folder)
        seen.processes = max(seen.processes, len(processes))
        seen.threads = max(seen.threads, threads)
        seen.memory_mb = max(seen.memory_mb, memory)
        self._sample_disks([process.pid for process in processes])

    def _sample_descriptors(self, folder: str) -> None:
        try:
            names = os.listdir(f"{folder}/fd")
        except OSError:
            return
        self.seen.descriptors = max(self.seen.descriptors, len(names))
        for name in names[:64]:
            self.seen.links[_link(f"{folder}/fd/{name}")] += 1
            try:
                size = os.stat(f"{folder}/fd/{name}").st_size / _MEGABYTE
            except OSError:
                continue
            self.seen.file_mb = max(self.seen.file_mb, size)

    def _sample_disks(self, pids: list[int]) -> None:
        """Also those that only exist in a process's own mounts, found by its working folder."""
        written, files = 0.0, 0
        folders = ["/tmp", "/var/tmp", "/dev/shm", *(f"/proc/{pid}/cwd" for pid in pids)]
        seen_devices = set()
        for folder in folders:
            try:
                device, facts = os.stat(folder).st_dev, os.statvfs(folder)
            except OSError:
                continue
            if device in seen_devices:
                continue
            seen_devices.add(device)
            used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize / _MEGABYTE
            count = facts.f_files - facts.f_ffree
            first_used, first_count = self._disks.setdefault(device, (used, count))
            written, files = written + used - first_used, files + count - first_count
        self.seen.disk_mb = max(self.seen.disk_mb, written)
        self.seen.files = max(self.seen.files, files)


def wait_until_steady(root: int) -> list[Process]:
    """The processes below ``root`` once none comes or goes: a judge may still be tidying up."""
    before = descendants(root)
    for _ in range(20):
        time.sleep(0.03)
        after = descendants(root)
        if [one.pid for one in after] == [one.pid for one in before]:
            break
        before = after
    return after


def wait_for_exits(root: int, most: int, within_s: float) -> list[Process]:
    """Wait until at most ``most`` processes are left below ``root``; those above that number
    which have not gone within the time."""
    end = time.monotonic() + within_s
    while len(left := descendants(root)) > most and time.monotonic() < end:
        time.sleep(0.02)
    return sorted(left, key=lambda process: process.started)[most:]
