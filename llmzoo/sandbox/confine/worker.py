"""The host's side of a zygote: starts it, sends it jobs and receives its reports."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llmzoo.errors import SandboxError
from llmzoo.sandbox.confine import boot
from llmzoo.sandbox.confine.folders import Folder
from llmzoo.sandbox.limits import Limits

_START_S = 30.0  # the first start may read the library from a cold disk
_SESSION_S = 86_400.0  # the longest life of a session
GRACE_S = 3.0  # after a run's time limit, until its zygote counts as stuck
# nothing is inherited from this process; PYTHONHASHSEED gives every run the same order of sets
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_numbers = itertools.count()
_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for worker in list(_workers):
        worker.close()


def new_private_user() -> int:
    """A number for a user that no other process of the sandbox has; used if root can become other users."""
    return (os.getpid() * 64 + next(_numbers)) % (1 << 20)


class WorkerBroken(SandboxError):
    """The zygote has ended or is stuck, which is no fault of the program."""


class CannotConfine(SandboxError):
    """The machine does not support a level. The message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What the zygote observed of a job.

    ``ending``: "ended", "timeout", "stopped" or "disk". ``status``: the wait status. ``clean``:
    whether the scratch folder is empty again.
    """

    ending: str
    status: int
    seconds: float
    cpu_s: float
    peak_kb: int
    clean: bool

    @property
    def exit_code(self) -> int:
        """The exit code as ``subprocess`` has it: negative for a signal."""
        return os.waitstatus_to_exitcode(self.status)


class Worker:
    """A running zygote. It takes one job at a time and is not thread-safe.

    ``level``: how strongly it is confined, from 0 (not at all) to 3 (namespaces and its own root).
    ``preload``: modules that it imports before any program. ``processes``: programs may start processes.

    Raises :class:`CannotConfine` if the machine does not support ``level``.
    """

    def __init__(self, level: int, preload: Sequence[str], *, processes: bool):
        self.level = level
        self.healthy = True  # may take another job
        self._owes_report = False
        self._pid = os.getpid()
        self._folder = Folder()
        self._process: subprocess.Popen[bytes] | None = None
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = near
        try:
            with far:
                self._process = boot.start(
                    "roles",
                    [far.fileno()],
                    ["-s"],
                    _ENVIRONMENT,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            settings = {
                "level": level,
                "processes": processes,
                "preload": list(preload),
                "folder": str(self._folder.path),
                "private_user": new_private_user(),
            }
            self._send(settings)
            self.notes = self._wait_until_ready()
            _workers.add(self)
        except BaseException:
            self.close()
            raise

    def is_ready(self) -> bool:
        """Whether an idle worker can take a job."""
        try:
            self._drain_report()
        except WorkerBroken:
            return False
        if not self.healthy:
            return False
        poll = select.poll()
        poll.register(self._control, select.POLLIN)  # the zygote says nothing until it gets a job
        return not poll.poll(0)

    def start(self, kind: str, limits: Limits, fds: Sequence[int]) -> None:
        """Start a job of this ``kind``. ``fds`` become the child's descriptors from 0 on."""
        self._drain_report()
        self.healthy = False
        wall_s = cpu_s = limits.time_limit
        if kind == "session":  # the session itself limits the time of each piece of code
            wall_s, cpu_s = _SESSION_S, max(60.0, limits.time_limit * 20)
        job = {"kind": kind, "wall_s": wall_s, "cpu_s": cpu_s}
        self._send(job | {"memory_mb": limits.memory_mb, "file_kb": limits.file_kb}, fds)
        self._deadline = time.monotonic() + wall_s + GRACE_S

    def stop(self) -> None:
        """Stop the running job. Its report still comes."""
        with contextlib.suppress(OSError):
            self._control.send(b"stop")

    def dismiss(self) -> None:
        """Stop the running job. The next job waits for its report."""
        self.stop()
        self._deadline = min(self._deadline, time.monotonic() + GRACE_S)
        self._owes_report = True
        self.healthy = True

    def _drain_report(self) -> None:
        """Receive the report of a dismissed job, if there is one. Raises :class:`WorkerBroken`."""
        if self._owes_report:
            self._owes_report = False
            self.report()

    def report(self) -> JobReport:
        """Wait for the end of the job. Raises :class:`WorkerBroken` if no report comes in time."""
        report = JobReport(**self._receive(self._deadline - time.monotonic()))
        self.healthy = report.clean
        return report

    def close(self) -> None:
        """End the zygote and everything that it started. In a fork of the host, only close its descriptors."""
        self._control.close()
        self.healthy = False
        process = self._process
        if self._pid != os.getpid():
            if process is not None:
                process.returncode = 0  # not ours to wait for
            self._folder.close(remove=False)
            return
        if process is not None:
            # its children end with it, by their pid namespace or by PR_SET_PDEATHSIG
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()
        self._folder.close(remove=True)

    def _wait_until_ready(self) -> dict[str, Any]:
        try:
            message = self._receive(_START_S)
        except WorkerBroken as error:
            raise CannotConfine(f"the sandbox's zygote did not start: {error}") from error
        if "failed" in message:
            raise CannotConfine(message["failed"])
        return message["ready"]

    def _send(self, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], list(fds))
        except OSError as error:
            raise WorkerBroken(f"the zygote is gone: {error}") from error

    def _receive(self, seconds: float) -> dict[str, Any]:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(max(0.0, seconds) * 1000):
            raise WorkerBroken("the zygote does not answer")
        try:
            message = self._control.recv(65536)
        except OSError as error:
            raise WorkerBroken(f"the zygote is gone: {error}") from error
        if not message:
            raise WorkerBroken("the zygote is gone")
        return json.loads(message)
