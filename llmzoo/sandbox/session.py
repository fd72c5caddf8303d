"""An interpreter that keeps its state, for an agent that uses Python as a tool."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from llmzoo.sandbox.confine.channel import ChannelClosed
from llmzoo.sandbox.confine.job import CUT, Job
from llmzoo.sandbox.confine.plain_data import NotData
from llmzoo.sandbox.confine.program import ENDED, FORBIDDEN, NO_MEMORY
from llmzoo.sandbox.confine.worker import Worker
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import Run

_STATUS = {ENDED: "passed", NO_MEMORY: "memory", FORBIDDEN: "blocked"}


class Session:
    """Executes pieces of code in the same namespace and prints the value of a last expression.

    Code cannot start threads or processes, so nothing runs between two pieces of code. Earlier code
    may have patched anything, so the output of a session proves nothing.

    A run beyond its limits ends the session: ``alive`` is then false, and later runs have the status
    "error". The time limit holds for each run; the memory limit, and 20 times the time limit of
    processor time (at least a minute), hold for the whole session. ``release`` takes the worker back
    when the session ends.
    """

    def __init__(self, worker: Worker, limits: Limits, release: Callable[[], None]):
        self._limits = limits
        self._release = release
        self._job = Job(worker, "session", limits, {})
        self.alive = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, code: str, stdin: str = "") -> Run:
        if not self.alive:
            return Run(status="error", stderr="the session has ended")
        started = time.monotonic()
        self._job.channel.socket.settimeout(self._limits.time_limit)
        number = secrets.randbits(62)  # an answer that was sent too early cannot contain it
        try:
            self._job.channel.send(["run", number, code, stdin])
            echoed_number, exit_code, stdout, stderr = self._job.channel.receive()
            if echoed_number != number:
                raise NotData("an answer to another question")
            if not (
                isinstance(exit_code, int) and isinstance(stdout, str) and isinstance(stderr, str)
            ):
                raise NotData("an answer of another form")
        except TimeoutError:
            self.close()
            return Run(status="timeout", seconds=time.monotonic() - started)
        except (ChannelClosed, NotData, ValueError, TypeError) as error:
            self.close()
            return Run(status="error", stderr=f"the session ended: {type(error).__name__}: {error}")
        limit = self._limits.output_kb << 10
        cut = len(stdout) > limit or len(stderr) > limit
        return Run(
            status="output" if cut else _STATUS.get(exit_code, "error"),
            stdout=stdout[:limit] + CUT * (len(stdout) > limit),
            stderr=stderr[:limit] + CUT * (len(stderr) > limit),
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """End the interpreter and release its worker."""
        if self.alive:
            self.alive = False
            self._job.dismiss()
            self._job.__exit__()
            self._release()
