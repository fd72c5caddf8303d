"""Judging by calls and by printed output, and what all verdicts share.

The expected values never enter the program's process: outputs and values are compared here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llmzoo.sandbox.confine.channel import ChannelClosed, encode_frame
from llmzoo.sandbox.confine.job import Job, run_program, run_status
from llmzoo.sandbox.confine.plain_data import NotData
from llmzoo.sandbox.confine.worker import Worker, WorkerBroken
from llmzoo.sandbox.judge.compare import outputs_equal, values_equal
from llmzoo.sandbox.judge.stand_ins import from_ratio
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import CaseResult, Checker, Isolation, Verdict

MAX_SHOWN = 400  # characters of a value or a message in a verdict
_MAX_TIMEOUTS = 2  # timeouts of one program after which the remaining cases are not run
_NOT_REACHED = "not reached"
_FITS_A_PIPE = 1 << 15  # bytes
_ERROR_STATUSES = {"MemoryError": "memory", "PermissionError": "blocked"}


@dataclass(frozen=True, slots=True)
class CallCase:
    """A call to make, and ``is_correct``, which decides about the value that it returns.

    ``stand_in``: what the program's process sends in place of a value that is not plain data, such as
    ``("list",)``, see :mod:`.stand_ins`. It names what the test does with the value first.
    """

    name: str
    function: str
    args: tuple[Any, ...]
    is_correct: Callable[[Any], bool]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    stand_in: tuple[Any, ...] = ()


def judge_calls(
    worker: Worker, code: str, cases: Sequence[tuple[str, Sequence[Any], Any]], limits: Limits
) -> Verdict:
    """Judge by calls. Each case is (function, arguments, expected value); floats may differ by a tolerance."""
    calls = [
        CallCase(
            f"{name}({', '.join(_short_repr(a) for a in args)})"[:MAX_SHOWN],
            name,
            tuple(args),
            partial(values_equal, expected),
        )
        for name, args, expected in cases
    ]
    return judge_call_cases(worker, code, calls, limits)


def judge_stdio(
    worker: Worker,
    code: str,
    cases: Sequence[tuple[str, str]],
    compare: str | Checker,
    limits: Limits,
) -> Verdict:
    """Judge by printed output. Each case is (standard input, expected output), and a new run of the program."""

    def is_right(stdin: str, expected: str, output: str) -> bool:
        if isinstance(compare, str):
            return outputs_equal(expected, output, compare)
        call = ("check", (stdin, expected, output), True)
        return judge_calls(worker, compare.code, [call], limits).ok

    started = time.monotonic()
    results: list[CaseResult] = []
    statuses: list[str] = []
    for stdin, expected in cases:
        if statuses.count("timeout") >= _MAX_TIMEOUTS:
            results.append(CaseResult(passed=False, error=_NOT_REACHED))
            continue
        outcome = run_program(worker, code, stdin, limits)
        status = outcome.status
        if status == "passed" and not is_right(stdin, expected, outcome.stdout):
            status = "failed"
        statuses.append(status)
        error = "" if status == "passed" else _error_text(status, outcome.stderr)
        results.append(
            CaseResult(passed=status == "passed", got=outcome.stdout[:MAX_SHOWN], error=error)
        )
    first_bad = next((s for s in statuses if s != "passed"), "passed")
    return make_verdict(worker, started, first_bad, results, "data")


def judge_call_cases(
    worker: Worker, code: str, calls: Sequence[CallCase], limits: Limits, prelude: str = ""
) -> Verdict:
    """Judge by the values that calls return."""
    started = time.monotonic()
    results: list[CaseResult] = []
    with Job(worker, "data", limits, {"source": code, "prelude": prelude}) as job:
        failure = ""
        try:
            failure = _exchange(job, calls, results)
        except (ChannelClosed, NotData) as error:
            failure = (
                "the program ended" if isinstance(error, ChannelClosed) else f"no answer: {error}"
            )
        except TimeoutError as error:
            raise WorkerBroken("the program's process does not answer") from error
        if calls and len(results) == len(calls):
            job.dismiss()
            status = status_of_errors([r.error for r in results])
        else:  # the program has ended, or ends because its channel closes
            status = run_status(job.hang_up(), limits)
            if status == "passed":
                status = _ERROR_STATUSES.get(failure.partition(":")[0], "error")
        stderr, _ = job.output(2)
    results += [
        CaseResult(passed=False, name=call.name, error=failure or _NOT_REACHED)
        for call in calls[len(results) :]
    ]
    return make_verdict(worker, started, status, results, "data", failure or stderr[-MAX_SHOWN:])


def _exchange(job: Job, calls: Sequence[CallCase], results: list[CaseResult]) -> str:
    """Send the calls and append a result for each answer. Returns why the program did not load."""
    questions = [
        encode_frame(["call", call.function, call.args, dict(call.kwargs), call.stand_in])
        for call in calls
    ]
    # calls that fit into the pipe are sent at once, since sending them cannot block
    at_once = sum(map(len, questions)) <= _FITS_A_PIPE
    if at_once:
        with suppress(
            ChannelClosed
        ):  # the program may have ended early; the reason is received below
            job.channel.send_frames(b"".join(questions))
    loaded = job.channel.receive()
    if loaded != ["loaded"]:
        return _text(loaded)
    for call, question in zip(calls, questions, strict=True):
        if not at_once:
            job.channel.send_frames(question)
        results.append(_result(call, job.channel.receive(from_ratio)))
    return ""


def _result(call: CallCase, answer: Any) -> CaseResult:
    """The result of an untrusted answer, which may have any form."""
    kind = answer[0] if isinstance(answer, list) and answer else None
    if kind == "value" and len(answer) == 2:
        correct = call.is_correct(answer[1])
        error = "" if correct else "wrong value"
        return CaseResult(passed=correct, name=call.name, got=_short_repr(answer[1]), error=error)
    if kind == "raised":
        error = _text(answer)
    elif kind == "unsendable":
        error = f"not plain data: {_text(answer)}"
    else:
        error = "malformed answer"
    return CaseResult(passed=False, name=call.name, error=error)


def _text(answer: Any) -> str:
    parts = answer[1:] if isinstance(answer, list) else [answer]
    return escape_and_truncate(
        ": ".join(p if isinstance(p, str) else _short_repr(p) for p in parts)
    )


def escape_and_truncate(text: str) -> str:
    """The beginning of a text, with lone surrogates escaped, which UTF-8 cannot encode."""
    return text[:MAX_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        return "an integer of thousands of digits"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _error_text(status: str, stderr: str) -> str:
    last = stderr.strip().rpartition("\n")[2]
    return {"failed": "wrong output", "error": last or "error"}.get(status, status)[:MAX_SHOWN]


def status_of_errors(errors: Sequence[str]) -> str:
    """The status of tests that all ran, from the error of each."""
    statuses = {_ERROR_STATUSES.get(e.partition(":")[0], "failed") for e in errors if e}
    if not statuses:
        return "passed"
    return statuses.pop() if len(statuses) == 1 else "failed"


def make_verdict(
    worker: Worker,
    started: float,
    status: str,
    results: Sequence[CaseResult],
    isolation: Isolation,
    error: str = "",
) -> Verdict:
    """A verdict. It is a pass only if there are results and all of them passed."""
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
