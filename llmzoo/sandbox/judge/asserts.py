"""Judging by assert-based tests, with the strongest isolation that the tests allow.

The text of the tests alone decides the isolation. What the program returns or raises does not.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from llmzoo.sandbox.confine.channel import Channel, ChannelClosed
from llmzoo.sandbox.confine.job import Job, run_status
from llmzoo.sandbox.confine.plain_data import NotData
from llmzoo.sandbox.confine.worker import Worker, WorkerBroken
from llmzoo.sandbox.judge.isolation_requirements import shared_interpreter_reason
from llmzoo.sandbox.judge.literal_asserts import read_call_cases
from llmzoo.sandbox.judge.verdicts import (
    MAX_SHOWN,
    escape_and_truncate,
    judge_call_cases,
    make_verdict,
    status_of_errors,
)
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import CaseResult, Isolation, Verdict


def shared_judging_reason(tests: str, entry_point: str | None = None) -> str:
    """Why ``tests`` must share an interpreter with the program, or "". Runs none of the tests."""
    if read_call_cases(tests, entry_point) is not None:
        return ""
    return shared_interpreter_reason(tests) or ""


@dataclass(frozen=True, slots=True)
class Asserts:
    """Tests of a program. ``allow_shared``: also judge tests that must run in the program's own
    interpreter, where the program can forge a pass."""

    code: str
    tests: str
    entry_point: str | None
    prelude: str
    limits: Limits
    allow_shared: bool

    def judge(self, worker: Worker) -> Verdict:
        calls = read_call_cases(self.tests, self.entry_point)
        if calls is not None:
            return judge_call_cases(worker, self.code, calls, self.limits, self.prelude)
        verdict, needs_shared = self._judge_separately(worker)
        if not needs_shared:
            return verdict
        if self.allow_shared:
            return self._judge_shared(worker)
        return replace(
            verdict,
            status="sandbox_error",
            error=f"{needs_shared}, so they must share an interpreter with the program, which can then "
            "forge a pass. Sandbox(allow_shared=True), llmzoo.sandbox.configure(allow_shared=True) or "
            "LLMZOO_SANDBOX_ALLOW_SHARED=1 allows that",
        )

    def _judge_separately(self, worker: Worker) -> tuple[Verdict, str]:
        """The verdict, and why these tests need one interpreter for program and tests, or ""."""
        started = time.monotonic()
        program = {"source": self.code, "prelude": self.prelude}
        tests = {"tests": self.tests, "entry_point": self.entry_point, "prelude": self.prelude}
        with Job(worker, "separate", self.limits, program, tests) as job:
            outcome = _receive_outcome(job, lambda channel: parse_outcome(channel.receive()))
            verdict = self._verdict(job, started, outcome, "separate")
        return verdict, outcome.shared_needed

    def _judge_shared(self, worker: Worker) -> Verdict:
        """The verdict of program and tests in one interpreter."""
        started = time.monotonic()
        given = {"source": self.code, "prelude": self.prelude, "entry_point": self.entry_point}
        with Job(worker, "shared", self.limits, given) as job:
            outcome = _receive_outcome(job, partial(receive_shared_outcome, self.tests))
            return self._verdict(job, started, outcome, "shared")

    def _verdict(
        self, job: Job, started: float, outcome: AssertsOutcome, isolation: Isolation
    ) -> Verdict:
        """The verdict: a pass only if the tester ended by itself, and every test was reached, ran and passed."""
        report = job.wait() if outcome.complete else job.end()
        stderr, _ = job.output(2)
        status = run_status(report, self.limits)
        if status == "passed":
            if outcome.error or not outcome.cases or not outcome.calls:
                status = "failed" if any(c.passed for c in outcome.cases) else "error"
            elif not all(c.passed for c in outcome.cases):
                status = status_of_errors([c.error for c in outcome.cases])
        error = outcome.error or stderr[-MAX_SHOWN:]
        return make_verdict(job.worker, started, status, outcome.cases, isolation, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertsOutcome:
    """What a tester reported.

    ``calls``: the number of calls made to the program. ``shared_needed``: why the tests must share an
    interpreter with the program, or "". ``nonce``: the number that proves that the tests sent the result.
    ``complete``: the tester sent a result, and will end by itself.
    """

    cases: tuple[CaseResult, ...] = ()
    calls: int = 0
    error: str = ""
    shared_needed: str = ""
    nonce: int | None = None
    complete: bool = False


def _receive_outcome(job: Job, receive: Callable[[Channel], AssertsOutcome]) -> AssertsOutcome:
    try:
        return receive(job.channel)
    except (ChannelClosed, NotData) as error:
        return AssertsOutcome(error=str(error) or "the tests did not come to their end")
    except TimeoutError as error:
        raise WorkerBroken("the tester does not answer") from error


def receive_shared_outcome(tests: str, channel: Channel) -> AssertsOutcome:
    """The outcome of program and tests in one interpreter.

    The tests are sent once the program has loaded. Each case is reported when it ends, and passes
    only if that report said so. The number that the result must carry is sent once the tests have
    ended.
    """
    reported: dict[str, Any] = {}
    message = channel.receive()
    if message == ["loaded"]:
        channel.send(["tests", tests])
        message = channel.receive()
    while isinstance(message, list) and len(message) == 3 and message[0] == "case":
        reported[str(message[1])] = message[2]
        message = channel.receive()
    nonce = secrets.randbits(62)
    if message == ["ended"]:
        channel.send(["nonce", nonce])
        message = channel.receive()
    outcome = parse_outcome(message)
    if not outcome.error and outcome.nonce != nonce:
        return AssertsOutcome(error="a result that the tests did not send")
    cases = [
        replace(case, passed=case.passed and reported.get(str(number), "") is None)
        for number, case in enumerate(outcome.cases)
    ]
    return replace(outcome, cases=tuple(cases))


def parse_outcome(message: Any) -> AssertsOutcome:
    """The outcome in an untrusted message: a program that shares the interpreter may have sent it."""
    try:
        kind, result = message
        if kind != "result":
            raise ValueError(kind)
        cases = tuple(
            CaseResult(
                passed=passed is True, name=name[:MAX_SHOWN], error=escape_and_truncate(error)
            )
            for name, passed, error in result["cases"]
        )
        nonce = result.get("nonce")
        return AssertsOutcome(
            cases=cases,
            calls=int(result["calls"]),
            error=escape_and_truncate(result["error"] or ""),
            shared_needed=(result["shared_needed"] or "")[:MAX_SHOWN],
            nonce=nonce if isinstance(nonce, int) else None,
            complete=True,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise NotData("a malformed result") from None
