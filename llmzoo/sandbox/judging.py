"""The three ways to judge a program. Each is a job that a worker carries out to a verdict.

What is expected never enters the program's process: outputs and values are compared here, and
assert-based tests run in a process of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from llmzoo.sandbox import literal_asserts
from llmzoo.sandbox.compare import same, same_output
from llmzoo.sandbox.inside.channel import Closed
from llmzoo.sandbox.inside.values import NotData
from llmzoo.sandbox.results import DEFAULT_LIMITS, CaseResult, Isolation, Limits, Verdict
from llmzoo.sandbox.running import Job, ending, run
from llmzoo.sandbox.worker import Broken, Worker

_SHOWN = 400  # characters of a value or a message in a verdict
_MAX_TIMEOUTS = 2  # runs of one program that may use up their time before the rest is given up
_NOT_REACHED = "not reached"
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


@dataclass(frozen=True, slots=True)
class Tests:
    """Assert-based tests, with the strongest isolation that they allow."""

    code: str
    tests: str
    entry_point: str | None = None
    prelude: str = ""
    limits: Limits = DEFAULT_LIMITS

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
            return _judge_calls(worker, self.code, self.prelude, asked, self.limits)
        verdict, needs_shared = self._by_tester(worker, "separate")
        if needs_shared:
            verdict, _ = self._by_tester(worker, "shared")
        return verdict

    def _by_tester(self, worker: Worker, isolation: Isolation) -> tuple[Verdict, bool]:
        """The verdict, and whether these tests need one interpreter for program and tests."""
        started = time.monotonic()
        program = {"source": self.code, "prelude": self.prelude}
        tests = {"tests": self.tests, "entry_point": self.entry_point, "prelude": self.prelude}
        given = [program, tests] if isolation == "separate" else [{**program, **tests}]
        with Job(worker, isolation, self.limits, *given) as job:
            try:
                kind, found = job.channel.receive()
                if kind != "result":
                    raise NotData(f"an answer of kind {kind!r}")
                report = job.wait()
            except (Closed, NotData, ValueError, TypeError):
                report = job.end()
                found = {"cases": [], "error": "the tests did not come to their end"}
            except TimeoutError as error:
                raise Broken("the tester does not answer") from error
            stderr, _ = job.streams.read(2, self.limits.output_kb)
        results = [
            CaseResult(passed=bool(passed), name=name[:_SHOWN], error=error[:_SHOWN])
            for name, passed, error in found["cases"]
        ]
        status = ending(report, self.limits)
        trouble = found.get("error") or ""
        if status == "passed":
            # a pass: the tester came to its own end, and every test was reached, ran and passed
            if trouble or not results or not found.get("calls", 0):
                status = "error" if not any(r.passed for r in results) else "failed"
            elif not all(r.passed for r in results):
                status = _of_errors([r.error for r in results])
        verdict = _verdict(worker, started, status, results, isolation, trouble or stderr[-_SHOWN:])
        return verdict, bool(found.get("shared_needed"))


def job(given: Judged | Mapping[str, Any]) -> Judged:
    """A job from a mapping of the arguments of ``check``, ``check_calls`` or ``check_stdio``."""
    if not isinstance(given, Mapping):
        return given
    arguments = dict(given)
    if "calls" in arguments:
        return Calls(cases=tuple(arguments.pop("calls")), **arguments)
    if "stdio" in arguments:
        return Stdio(cases=tuple(arguments.pop("stdio")), **arguments)
    return Tests(**arguments)


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
        try:
            loaded = job.channel.receive()
            if loaded == ["loaded"]:
                for one in asked:
                    job.channel.send(["call", one.function, tuple(one.args), dict(one.kwargs)])
                    results.append(_result(one, job.channel.receive()))
            else:
                failure = _text(loaded, 1)
        except (Closed, NotData) as error:
            failure = "the program ended" if isinstance(error, Closed) else f"no answer: {error}"
        except TimeoutError as error:
            raise Broken("the program's process does not answer") from error
        # without answers it has ended by itself, or its channel makes it end
        complete = len(results) == len(asked)
        report = job.end() if complete else job.hang_up()
        stderr, _ = job.streams.read(2, limits.output_kb)
    if complete and asked:
        status = _of_errors([r.error for r in results])
    else:
        status = ending(report, limits)
        if status == "passed":
            status = _FOUND_STATUSES.get(failure.partition(":")[0], "error")
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
    if isinstance(answer, list) and answer and answer[0] in ("raised", "unsendable"):
        return CaseResult(passed=False, name=asked.name, error=_text(answer, 1))
    return CaseResult(passed=False, name=asked.name, error="no answer in the form of one")


def _text(answer: Any, start: int) -> str:
    parts = answer[start:] if isinstance(answer, list) else [answer]
    return ": ".join(part if isinstance(part, str) else _shown(part) for part in parts)[:_SHOWN]


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
