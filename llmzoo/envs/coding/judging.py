"""Judging programs in the process-wide sandbox, each distinct job once.

Thin calls: what they take and return is the sandbox's own. Among K samples of one prompt many are
identical, so verdicts are remembered; those of a timeout are not, since a busy machine is slow.

A fault of the sandbox itself raises :class:`SandboxError`: it is neither a pass nor a failure, and
must not become a reward.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from llmzoo.errors import SandboxError
from llmzoo.sandbox import shared
from llmzoo.sandbox.results import DEFAULT_LIMITS, Limits, Run, Verdict

MAX_REMEMBERED = 4096

Answer = TypeVar("Answer", Run, Verdict)

_remembered: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def check(
    code: str,
    tests: str,
    entry_point: str | None = None,
    prelude: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """The verdict of assert-based ``tests``: ``check(candidate)``, bare asserts, unittest classes."""
    return _once(
        ("check", code, tests, entry_point, prelude, limits),
        lambda: shared().check(code, tests, entry_point, prelude, limits=limits),
    )


def has_verdict(tests: str, entry_point: str | None = None) -> bool:
    """Whether ``tests`` get a verdict. Those that must run in the program's own interpreter get none
    unless the sandbox allows it (``allow_shared``)."""
    return not shared().no_verdict(tests, entry_point)


def check_calls(
    code: str,
    cases: Sequence[tuple[str, tuple[Any, ...], Any]],
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """The verdict of calls ``(function, arguments, expected value)``, compared outside."""
    return _once(
        ("calls", code, repr(cases), limits),
        lambda: shared().check_calls(code, cases, limits=limits),
    )


def check_stdio(
    code: str,
    cases: Sequence[tuple[str, str]],
    limits: Limits = DEFAULT_LIMITS,
    compare: Any = "tokens",
) -> Verdict:
    """The verdict of ``(standard input, expected output)`` pairs."""
    return _once(
        ("stdio", code, tuple(cases), limits, compare),
        lambda: shared().check_stdio(code, cases, limits=limits, compare=compare),
    )


def run(
    code: str,
    stdin: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> Run:
    """What a program prints."""
    return _once(("run", code, stdin, limits), lambda: shared().run(code, stdin, limits=limits))


def trouble(verdict: Verdict) -> str:
    """What kept a program from answering its tests: it did not load, or met a limit; else ""."""
    if verdict.status in ("passed", "failed"):
        return ""
    return f"{verdict.status}: {verdict.error}" if verdict.error else verdict.status


def forget() -> None:
    """Forget all verdicts."""
    with _lock:
        _remembered.clear()


def _once(job: Hashable, judge: Callable[[], Answer]) -> Answer:
    with _lock:
        if job in _remembered:
            _remembered.move_to_end(job)
            return _remembered[job]
    answer = judge()
    if answer.status == "sandbox_error":
        raise SandboxError(f"the sandbox gave no verdict: {_reason(answer)}")
    if answer.status != "timeout":
        with _lock:
            _remembered[job] = answer
            while len(_remembered) > MAX_REMEMBERED:
                _remembered.popitem(last=False)
    return answer


def _reason(answer: Run | Verdict) -> str:
    return answer.error if isinstance(answer, Verdict) else answer.stderr
