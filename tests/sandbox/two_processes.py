"""A program and its tests in two forked processes, or one, without any confinement.

What is judged is how the processes talk; a run is killed when its time is up. A process of its own,
started from this file, does the forking: the one that runs the tests may hold threads, as gRPC's,
that do not survive it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from llmzoo.sandbox.confine.channel import Channel, ChannelClosed
from llmzoo.sandbox.confine.plain_data import NotData
from llmzoo.sandbox.judge import candidate, shared, tester
from llmzoo.sandbox.judge.asserts import AssertsOutcome, parse_outcome, receive_shared_outcome


@dataclass
class Judged:
    """What the host would see. ``passed``: by the rule that the host goes by."""

    cases: list[list[Any]]
    error: str | None
    calls: int = 0
    shared_needed: str | None = None

    @property
    def passed(self) -> bool:
        every = bool(self.cases) and all(passed is True for _, passed, _ in self.cases)
        return every and self.error is None and self.calls > 0

    @property
    def outcomes(self) -> list[bool]:
        return [passed for _, passed, _ in self.cases]

    @property
    def errors(self) -> list[str]:
        return [error for *_, error in self.cases]


def judge(
    program: str,
    tests: str,
    entry_point: str | None = None,
    *,
    prelude: str = "",
    time_limit: float = 20,
) -> Judged:
    """Judge with the program in a process of its own."""
    return Judged(**_asked("judge", program, tests, entry_point, prelude, time_limit))


def judge_in_one(
    program: str,
    tests: str,
    entry_point: str | None = None,
    *,
    prelude: str = "",
    time_limit: float = 20,
) -> Judged:
    """Judge in one interpreter."""
    return Judged(**_asked("judge_in_one", program, tests, entry_point, prelude, time_limit))


def passes_plainly(source: str, time_limit: float) -> bool:
    """Whether a program runs to its end, told by the status of a process that executes it.

    ``time_limit``: seconds of processor time.
    """
    return bool(_asked("passes_plainly", source, time_limit))


def _asked(*question: Any) -> Any:
    helper = _helper()
    assert helper.stdin is not None
    assert helper.stdout is not None
    helper.stdin.write(json.dumps([os.getcwd(), *question]) + "\n")
    helper.stdin.flush()
    return json.loads(helper.stdout.readline())


@cache
def _helper() -> subprocess.Popen[str]:
    helper = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(helper.kill)
    return helper


# -- in the helper


def _judge(
    program: str, tests: str, entry_point: str | None, prelude: str, time_limit: float
) -> Judged:
    host, far_host = socket.socketpair()
    near, far = socket.socketpair()
    children = [
        _fork(
            [far],
            lambda: candidate.serve(Channel(far), program, prelude=prelude),
        ),
        _fork(
            [far_host, near],
            lambda: tester.judge(
                *(Channel(far_host), Channel(near), tests),
                entry_point=entry_point,
                prelude=prelude,
            ),
        ),
    ]
    return _result(host, [far_host, near, far], children, time_limit)


def _judge_in_one(
    program: str, tests: str, entry_point: str | None, prelude: str, time_limit: float
) -> Judged:
    host, far_host = socket.socketpair()
    child = _fork(
        [far_host],
        lambda: shared.judge_shared(Channel(far_host), program, entry_point, prelude),
    )
    return _result(host, [far_host], [child], time_limit, partial(receive_shared_outcome, tests))


def _passes_plainly(source: str, time_limit: float) -> bool:
    def act() -> None:
        signal.setitimer(signal.ITIMER_PROF, time_limit)
        exec(compile(source, "<plain>", "exec", dont_inherit=True), {})

    return os.waitpid(_fork([], act), 0)[1] == 0


def _serve() -> None:
    does = {"judge": _judge, "judge_in_one": _judge_in_one, "passes_plainly": _passes_plainly}
    for line in sys.stdin:
        folder, what, *arguments = json.loads(line)
        os.chdir(folder)
        answer = does[what](*arguments)
        print(json.dumps(asdict(answer) if isinstance(answer, Judged) else answer), flush=True)


def _fork(kept: list[socket.socket], act: Callable[[], None]) -> int:
    """A child with ``kept`` and nothing else of what this process has open."""
    child = os.fork()
    if child:
        return child
    try:
        wanted = {end.fileno() for end in kept}
        for fd in {int(name) for name in os.listdir("/proc/self/fd")} - wanted - {0, 1, 2}:
            with contextlib.suppress(OSError):
                os.close(fd)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        act()
    except BaseException:
        os._exit(1)
    os._exit(0)


def _result(
    host: socket.socket,
    others: list[socket.socket],
    children: list[int],
    time_limit: float,
    receive: Callable[[Channel], AssertsOutcome] = lambda channel: parse_outcome(channel.receive()),
) -> Judged:
    for end in others:
        end.close()
    host.settimeout(time_limit)
    try:
        outcome = receive(Channel(host))
        cases = [[case.name, case.passed, case.error] for case in outcome.cases]
        return Judged(cases, outcome.error or None, outcome.calls, outcome.shared_needed or None)
    except (ChannelClosed, NotData, TimeoutError) as error:
        return Judged([], type(error).__name__)
    finally:
        host.close()
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


if __name__ == "__main__":
    _serve()
