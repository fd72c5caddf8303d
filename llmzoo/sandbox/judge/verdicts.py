"""The three ways to judge a program. Each is a job that a worker carries out to a verdict.

What is expected never enters the program's process: outputs and values are compared here, and
assert-based tests run in a process of their own.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from llmzoo.sandbox.confine.channel import Channel, Closed, frame
from llmzoo.sandbox.confine.job import Job, ending, run
from llmzoo.sandbox.confine.values import NotData
from llmzoo.sandbox.confine.worker import Broken, Worker
from llmzoo.sandbox.judge import literal_asserts
from llmzoo.sandbox.judge.compare import same, same_output
from llmzoo.sandbox.judge.sharing import why_tests_share
from llmzoo.sandbox.results import DEFAULT_LIMITS, CaseResult, Isolation, Limits, Verdict

_SHOWN = 400  # characters of a value or a message in a verdict
_MAX_TIMEOUTS = 2  # runs of one program that may use up their time before the rest is given up
_NOT_REACHED = "not reached"
_FITS_A_PIPE = 1 << 15  # bytes
_UNSENDABLE = "not plain data"
_FOUND_STATUSES = {"MemoryError": "memory", "PermissionError": "blocked"}


class Judged(Protocol):
    """Something that a worker can judge."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The texts that will run, to choose a worker by what they import."""
        ...

    def carry_out(self, worker: Worker) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Checker:
    """A trusted program that decides about outputs: it defines ``check(input, expected, output)``,
    which returns whether the output is right. It runs confined too."""

    code: str


@dataclass(frozen=True, slots=True)
class Calls:
    """(function, arguments, expected value) each; compared outside, floats within a tolerance."""

    code: str
    cases: Sequence[tuple[str, Sequence[Any], Any]]
    limits: Limits = DEFAULT_LIMITS

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.code,)

    def carry_out(self, worker: Worker) -> Verdict:
        asked = [
            _Asked(
                f"{name}({', '.join(_shown(a) for a in args)})"[:_SHOWN],
                name,
                tuple(args),
                {},
                partial(same, expected),
            )
            for name, args, expected in self.cases
        ]
        return _judge_calls(worker, self.code, "", asked, self.limits)


@dataclass(frozen=True, slots=True)
class Stdio:
    """(standard input, expected output) each, with a fresh run of the program for each."""

    code: str
    cases: Sequence[tuple[str, str]]
    compare: str | Checker = "tokens"
    limits: Limits = DEFAULT_LIMITS

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.code,)

    def carry_out(self, worker: Worker) -> Verdict:
        started = time.monotonic()
        results: list[CaseResult] = []
        statuses: list[str] = []
        for stdin, expected in self.cases:
            if statuses.count("timeout") >= _MAX_TIMEOUTS:
                results.append(CaseResult(passed=False, error=_NOT_REACHED))
                continue
            found = run(worker, self.code, stdin, self.limits)
            status = found.status
            if status == "passed" and not self._right(worker, stdin, expected, found.stdout):
                status = "failed"
            statuses.append(status)
            results.append(
                CaseResult(
                    passed=status == "passed",
                    got=found.stdout[:_SHOWN],
                    error="" if status == "passed" else _why(status, found.stderr),
                )
            )
        first_bad = next((s for s in statuses if s != "passed"), "passed")
        return _verdict(worker, started, first_bad, results, "data")

    def _right(self, worker: Worker, stdin: str, expected: str, output: str) -> bool:
        if isinstance(self.compare, str):
            return same_output(expected, output, self.compare)
        case = ("check", (stdin, expected, output), True)
        return Calls(self.compare.code, [case], self.limits).carry_out(worker).ok


def no_verdict_apart(tests: str, entry_point: str | None = None) -> str:
    """Why ``tests`` cannot be judged in an interpreter of their own, or "". The text alone decides."""
    if literal_asserts.as_calls(tests, entry_point) is not None:
        return ""
    return why_tests_share(tests) or ""


@dataclass(frozen=True, slots=True)
class Tests:
    """Assert-based tests, with the strongest isolation that they allow.

    ``allow_shared``: also in the program's own interpreter, where it can forge a pass.
    """

    code: str
    tests: str
    entry_point: str | None = None
    prelude: str = ""
    limits: Limits = DEFAULT_LIMITS
    allow_shared: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return self.code, self.tests, self.prelude

    def carry_out(self, worker: Worker) -> Verdict:
        cases = literal_asserts.as_calls(self.tests, self.entry_point)
        if cases is not None:
            asked = [
                _Asked(
                    case.name,
                    case.function,
                    case.args,
                    case.kwargs,
                    partial(literal_asserts.matches, case),
                )
                for case in cases
            ]
            verdict = _judge_calls(worker, self.code, self.prelude, asked, self.limits)
            if not any(case.error.startswith(_UNSENDABLE) for case in verdict.cases):
                return verdict
            # a value that is no plain data may still be what the tests ask for, such as a range
        verdict, needs_shared = self._separately(worker)
        if not needs_shared:
            return verdict
        if self.allow_shared:
            return self._together(worker)
        return replace(
            verdict,
            status="sandbox_error",
            error=f"{needs_shared}, so they need the program in their own interpreter, where it can "
            "forge a pass. Sandbox(allow_shared=True), llmzoo.sandbox.configure(allow_shared=True) or "
            "LLMZOO_SANDBOX_ALLOW_SHARED=1 allows that",
        )

    def _separately(self, worker: Worker) -> tuple[Verdict, str]:
        """The verdict, and why these tests need one interpreter for program and tests, or ""."""
        started = time.monotonic()
        program = {"source": self.code, "prelude": self.prelude}
        tests = {"tests": self.tests, "entry_point": self.entry_point, "prelude": self.prelude}
        with Job(worker, "separate", self.limits, program, tests) as job:
            found = _hear(job)
            verdict = self._verdict(job, started, found, "separate")
        return verdict, found.shared_needed

    def _together(self, worker: Worker) -> Verdict:
        """In one interpreter. The tests come once the program has loaded; each outcome is told when
        it comes about; the number that a result must carry comes once the tests have ended."""
        started = time.monotonic()
        given = {"source": self.code, "prelude": self.prelude, "entry_point": self.entry_point}
        with Job(worker, "shared", self.limits, given) as job:
            found = _hear(job, partial(_hear_together, self.tests))
            return self._verdict(job, started, found, "shared")

    def _verdict(self, job: Job, started: float, found: _Heard, isolation: Isolation) -> Verdict:
        """A pass: the tester came to its own end, and every test was reached, ran and passed."""
        report = job.wait() if found.complete else job.end()
        stderr, _ = job.streams.read(2, self.limits.output_kb)
        status = ending(report, self.limits)
        if status == "passed":
            if found.error or not found.cases or not found.calls:
                status = "error" if not any(c.passed for c in found.cases) else "failed"
            elif not all(c.passed for c in found.cases):
                status = _of_errors([c.error for c in found.cases])
        trouble = found.error or stderr[-_SHOWN:]
        return _verdict(job.worker, started, status, found.cases, isolation, trouble)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """What a tester said in the end. ``complete``: it said so, and ends by itself."""

    cases: tuple[CaseResult, ...] = ()
    calls: int = 0
    error: str = ""
    shared_needed: str = ""
    nonce: int | None = None
    complete: bool = False


def _hear(job: Job, hear: Callable[[Channel], _Heard] | None = None) -> _Heard:
    """The result that comes over a job's channel, where ``hear`` may lead the conversation."""
    try:
        return hear(job.channel) if hear else _heard(job.channel.receive())
    except (Closed, NotData) as error:
        return _Heard(error=str(error) or "the tests did not come to their end")
    except TimeoutError as error:
        raise Broken("the tester does not answer") from error


def _hear_together(tests: str, channel: Channel) -> _Heard:
    """The result of program and tests in one interpreter: a case passes if it said so at its end."""
    told: dict[Any, Any] = {}
    said = channel.receive()
    if said == ["loaded"]:
        channel.send(["tests", tests])
        said = channel.receive()
    while isinstance(said, list) and len(said) == 3 and said[0] == "case":
        told[str(said[1])] = said[2]
        said = channel.receive()
    nonce = secrets.randbits(62)
    if said == ["ended"]:
        channel.send(["nonce", nonce])
        said = channel.receive()
    heard = _heard(said)
    if not heard.error and heard.nonce != nonce:
        return _Heard(error="a result that the tests did not send")
    cases = [
        replace(case, passed=case.passed and told.get(str(number), "") is None)
        for number, case in enumerate(heard.cases)
    ]
    return replace(heard, cases=tuple(cases))


def _heard(said: Any) -> _Heard:
    """A result read with suspicion: where program and tests share an interpreter, either wrote it."""
    try:
        kind, result = said
        if kind != "result":
            raise ValueError(kind)
        cases = tuple(
            CaseResult(passed=passed is True, name=name[:_SHOWN], error=_legible(error))
            for name, passed, error in result["cases"]
        )
        nonce = result.get("nonce")
        return _Heard(
            cases=cases,
            calls=int(result["calls"]),
            error=_legible(result["error"] or ""),
            shared_needed=(result["shared_needed"] or "")[:_SHOWN],
            nonce=nonce if isinstance(nonce, int) else None,
            complete=True,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise NotData("a result in another form than one") from None


def job(given: Judged | Mapping[str, Any], *, allow_shared: bool) -> Judged:
    """A job from a mapping of the arguments of ``check``, ``check_calls`` or ``check_stdio``.

    ``allow_shared``: of the sandbox, see :class:`Tests`.
    """
    if not isinstance(given, Mapping):
        return given
    arguments = dict(given)
    if "calls" in arguments:
        return Calls(cases=tuple(arguments.pop("calls")), **arguments)
    if "stdio" in arguments:
        return Stdio(cases=tuple(arguments.pop("stdio")), **arguments)
    return Tests(**arguments, allow_shared=allow_shared)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call to make, and what decides about the value that comes back."""

    name: str
    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    right: Callable[[Any], bool]


def _judge_calls(
    worker: Worker, code: str, prelude: str, asked: Sequence[_Asked], limits: Limits
) -> Verdict:
    started = time.monotonic()
    results: list[CaseResult] = []
    with Job(worker, "data", limits, {"source": code, "prelude": prelude}) as job:
        failure = ""
        questions = [
            frame(["call", one.function, tuple(one.args), dict(one.kwargs)]) for one in asked
        ]
        # few and short ones are all asked at once: what lies in the pipe blocks nobody
        at_once = sum(map(len, questions)) <= _FITS_A_PIPE
        try:
            if at_once:
                job.channel.send_frames(b"".join(questions))
            loaded = job.channel.receive()
            if loaded == ["loaded"]:
                for one, question in zip(asked, questions, strict=True):
                    if not at_once:
                        job.channel.send_frames(question)
                    results.append(_result(one, job.channel.receive()))
            else:
                failure = _text(loaded, 1)
        except (Closed, NotData) as error:
            failure = "the program ended" if isinstance(error, Closed) else f"no answer: {error}"
        except TimeoutError as error:
            raise Broken("the program's process does not answer") from error
        if asked and len(results) == len(asked):
            job.leave()
            status = _of_errors([r.error for r in results])
        else:  # it has ended by itself, or its channel makes it end
            status = ending(job.hang_up(), limits)
            if status == "passed":
                status = _FOUND_STATUSES.get(failure.partition(":")[0], "error")
        stderr, _ = job.streams.read(2, limits.output_kb)
    results += [
        CaseResult(passed=False, name=one.name, error=failure or _NOT_REACHED)
        for one in asked[len(results) :]
    ]
    return _verdict(worker, started, status, results, "data", failure or stderr[-_SHOWN:])


def _result(asked: _Asked, answer: Any) -> CaseResult:
    """An answer is untrusted: whatever has not the form of a value is no value."""
    if isinstance(answer, list) and len(answer) == 2 and answer[0] == "value":
        right = asked.right(answer[1])
        return CaseResult(
            passed=right,
            name=asked.name,
            got=_shown(answer[1]),
            error="" if right else "wrong value",
        )
    if isinstance(answer, list) and answer and answer[0] == "raised":
        return CaseResult(passed=False, name=asked.name, error=_text(answer, 1))
    if isinstance(answer, list) and answer and answer[0] == "unsendable":
        error = f"{_UNSENDABLE}: {_text(answer, 1)}"
        return CaseResult(passed=False, name=asked.name, error=error)
    return CaseResult(passed=False, name=asked.name, error="no answer in the form of one")


def _text(answer: Any, start: int) -> str:
    parts = answer[start:] if isinstance(answer, list) else [answer]
    return _legible(": ".join(p if isinstance(p, str) else _shown(p) for p in parts))


def _legible(text: str) -> str:
    """The beginning of a text, with what no file can hold (a lone surrogate) escaped."""
    return text[:_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        return "an integer of thousands of digits"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _why(status: str, stderr: str) -> str:
    last = stderr.strip().rpartition("\n")[2]
    return {"failed": "wrong output", "error": last or "error"}.get(status, status)[:_SHOWN]


def _of_errors(errors: Sequence[str]) -> str:
    """The status of tests that all came to an answer, from what was wrong with each."""
    wrong = [error for error in errors if error]
    if not wrong:
        return "passed"
    found = {_FOUND_STATUSES.get(error.partition(":")[0], "failed") for error in wrong}
    return found.pop() if len(found) == 1 else "failed"


def _verdict(
    worker: Worker,
    started: float,
    status: str,
    results: Sequence[CaseResult],
    isolation: Isolation,
    error: str = "",
) -> Verdict:
    passed = sum(result.passed for result in results)
    if status == "passed" and (not results or passed < len(results)):
        status = "failed" if results else "error"
    return Verdict(
        status=status,
        passed=passed,
        total=len(results),
        cases=tuple(results),
        isolation=isolation,
        level=worker.level,
        seconds=time.monotonic() - started,
        error="" if status == "passed" else error,
    )
