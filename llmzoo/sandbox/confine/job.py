"""One job of a worker: its descriptors, its limits and how it ended."""

from __future__ import annotations

import json
import os
import socket
from contextlib import AbstractContextManager
from typing import Any

from llmzoo.sandbox.confine.channel import Channel
from llmzoo.sandbox.confine.program import FORBIDDEN, NO_MEMORY
from llmzoo.sandbox.confine.worker import GRACE_S, JobReport, Worker
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import Run

CUT = "\n[cut]"
_SIGSYS, _SIGXCPU, _SIGKILL, _SIGXFSZ = -31, -24, -9, -25


def memory_file(content: str = "") -> int:
    """A descriptor of an anonymous file in memory with this content."""
    fd = os.memfd_create("llmzoo", os.MFD_CLOEXEC)
    data = content.encode("utf-8", "surrogatepass")
    while data:
        data = data[os.write(fd, data) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Job(AbstractContextManager["Job"]):
    """A job of a worker while it runs. Its standard streams are files in memory.

    ``child_inputs``: a JSON object for each child. ``channel``: whether the last child has a channel to the
    host.
    """

    def __init__(
        self,
        worker: Worker,
        kind: str,
        limits: Limits,
        *child_inputs: dict[str, Any],
        stdin: str = "",
        channel: bool = True,
    ):
        self.worker = worker
        self.limits = limits
        self._report: JobReport | None = None
        self._streams = [memory_file(stdin), memory_file(), memory_file()]
        input_fds = [memory_file(json.dumps(text)) for text in child_inputs]
        near, far = socket.socketpair()
        # the zygote ends the run earlier, and then the other end closes
        near.settimeout(limits.time_limit + GRACE_S)
        self.channel = Channel(near)
        try:
            fds = [*self._streams, *input_fds, far.fileno()]
            worker.start(kind, limits, fds if channel else fds[:-1])
        finally:
            for fd in input_fds:
                os.close(fd)
            far.close()

    def __exit__(self, *_: object) -> None:
        self.channel.close()
        for fd in self._streams:
            os.close(fd)

    def output(self, stream: int) -> tuple[str, bool]:
        """What the children wrote to stream 1 or 2, cut to its limit, and whether it was cut."""
        limit = self.limits.output_kb << 10
        data = os.pread(self._streams[stream], limit + 1, 0)
        text = data[:limit].decode("utf-8", "replace")
        return (text + CUT, True) if len(data) > limit else (text, False)

    def end(self) -> JobReport:
        """Stop the children and return how they ended."""
        self.worker.stop()
        return self.wait()

    def dismiss(self) -> None:
        """Stop the children without waiting for their end."""
        self.worker.dismiss()

    def hang_up(self) -> JobReport:
        """Close the channel, and return how the children ended."""
        self.channel.close()
        return self.wait()

    def wait(self) -> JobReport:
        """Wait until the children end by themselves or at their limits, and return how."""
        if self._report is None:
            self._report = self.worker.report()
        return self._report


def run_status(report: JobReport, limits: Limits) -> str:
    """The status of a run: "passed" if it ended normally."""
    code = report.exit_code
    if report.ending == "timeout" or code == _SIGXCPU:
        return "timeout"
    if report.ending == "disk" or code == _SIGXFSZ:
        return "output"
    if code == _SIGKILL and report.ending == "ended":
        return "timeout" if report.cpu_s >= 0.9 * limits.time_limit else "memory"
    if code in (_SIGSYS, FORBIDDEN):
        return "blocked"
    if code == NO_MEMORY:
        return "memory"
    return "passed" if code == 0 else "error"


def run_program(worker: Worker, code: str, stdin: str, limits: Limits) -> Run:
    """Run a program to its end."""
    with Job(worker, "run", limits, {"source": code}, stdin=stdin, channel=False) as job:
        report = job.wait()
        stdout, cut = job.output(1)
        stderr, cut_too = job.output(2)
    status = run_status(report, limits)
    return Run(
        status="output" if (cut or cut_too) and status in ("passed", "error") else status,
        stdout=stdout,
        stderr=stderr,
        seconds=report.seconds,
        peak_mb=report.peak_kb / 1024,
    )
